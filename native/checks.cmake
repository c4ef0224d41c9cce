# Executables without Python: checks and fuzz targets of the native parts, usually under sanitisers.
#   cmake -S . -B build/checks -DHEADRACE_CHECKS=ON -DHEADRACE_SANITIZE=address,undefined
# With clang, HEADRACE_LIBFUZZER=ON links libFuzzer; without it a small driver of our own runs the same targets.
# HEADRACE_COVERAGE=ON counts lines instead, for a replay of what fuzzing has found.

set(HEADRACE_SANITIZE "" CACHE STRING "Sanitisers of the checks, as -fsanitize= wants them")
option(HEADRACE_LIBFUZZER "Drive the fuzz targets by libFuzzer (clang)" OFF)
option(HEADRACE_COVERAGE "Count executed lines (clang)" OFF)

add_library(headrace_core STATIC ${HEADRACE_CORE})
target_include_directories(headrace_core PUBLIC native ${JPEG_INCLUDE_DIR})
target_link_libraries(headrace_core PUBLIC ${JPEG_LIBRARY} Threads::Threads)
target_compile_options(headrace_core PUBLIC -O1 -g -fno-omit-frame-pointer -ffp-contract=off -Wall -Wextra -Werror)
if(HEADRACE_SANITIZE)
  target_compile_options(headrace_core PUBLIC -fsanitize=${HEADRACE_SANITIZE} -fno-sanitize-recover=all)
  target_link_options(headrace_core PUBLIC -fsanitize=${HEADRACE_SANITIZE})
endif()
if(HEADRACE_LIBFUZZER)
  target_compile_options(headrace_core PUBLIC -fsanitize=fuzzer-no-link)
endif()
if(HEADRACE_COVERAGE)
  target_compile_options(headrace_core PUBLIC -fprofile-instr-generate -fcoverage-mapping)
  target_link_options(headrace_core PUBLIC -fprofile-instr-generate)
endif()

file(GLOB HEADRACE_CHECK_FILES CONFIGURE_DEPENDS native/check/*_check.cpp)
foreach(file ${HEADRACE_CHECK_FILES})
  get_filename_component(name ${file} NAME_WE)
  add_executable(${name} ${file})
  target_link_libraries(${name} PRIVATE headrace_core)
endforeach()

file(GLOB HEADRACE_FUZZ_FILES CONFIGURE_DEPENDS native/fuzz/*_fuzz.cpp)
foreach(file ${HEADRACE_FUZZ_FILES})
  get_filename_component(name ${file} NAME_WE)
  if(HEADRACE_LIBFUZZER)
    add_executable(${name} ${file})
    target_link_options(${name} PRIVATE -fsanitize=fuzzer)
  else()
    add_executable(${name} ${file} native/fuzz/standalone_main.cpp)
  endif()
  target_link_libraries(${name} PRIVATE headrace_core)
endforeach()
