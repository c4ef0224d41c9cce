// Times each stage of the kernel on one core, image by image: RandomResizedCrop(224) and a flip, into planes of uint8.
//
// Usage: stages ROUNDS FILE...    (JPEGs; prints JSON: milliseconds of processor time an image, one number a round,
// for each stage)
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

#include "jpeg/libjpeg.h"
#include "kernel/batch.h"
#include "kernel/finish.h"
#include "kernel/plan.h"
#include "kernel/workspace.h"
#include "resample/layout.h"

namespace headrace {
namespace {

using Bytes = std::vector<uint8_t>;

constexpr int kSide = 224;

Bytes read_file(const char* path) {
  std::ifstream file(path, std::ios::binary);
  Bytes bytes(std::istreambuf_iterator<char>(file), {});
  if (bytes.empty()) {
    std::fprintf(stderr, "%s: cannot be read, or is empty\n", path);
    std::exit(2);
  }
  return bytes;
}

Geometry crop_geometry() {
  Geometry geometry;
  geometry.kind = GeometryKind::random_resized_crop;
  geometry.height = geometry.width = kSide;
  geometry.log_ratio[0] = -0.2876820724517809;  // log(3 / 4)
  geometry.log_ratio[1] = 0.2876820724517809;
  geometry.flip_probability = 0.5;
  geometry.flip_op = 1;
  return geometry;
}

// Processor time of this process: what others do on the machine meanwhile does not count.
double processor_ms() {
  timespec now;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * 1e3 + static_cast<double>(now.tv_nsec) * 1e-6;
}

// Milliseconds of one stage, summed up over the images of a round.
class Stage {
 public:
  explicit Stage(std::string name) : name_(std::move(name)) {}

  template <typename Work>
  void time(const Work& work) {
    const double begin_ms = processor_ms();
    work();
    sum_ms_ += processor_ms() - begin_ms;
  }

  void end_round(size_t num_images) {
    rounds_.push_back(sum_ms_ / static_cast<double>(num_images));
    sum_ms_ = 0;
  }

  void print(bool last) const {
    std::printf("  \"%s\": [", name_.c_str());
    for (size_t i = 0; i < rounds_.size(); ++i) std::printf("%s%.5f", i == 0 ? "" : ", ", rounds_[i]);
    std::printf("]%s\n", last ? "" : ",");
  }

 private:
  std::string name_;
  double sum_ms_ = 0;
  std::vector<double> rounds_;
};

// Entropy decoding of the whole image, and nothing else.
class Entropy {
 public:
  Entropy() {
    cinfo_.err = jpeg_std_error(&errors_);
    jpeg_create_decompress(&cinfo_);
  }
  ~Entropy() { jpeg_destroy_decompress(&cinfo_); }
  Entropy(const Entropy&) = delete;
  Entropy& operator=(const Entropy&) = delete;

  void decode(const Bytes& file) {
    jpeg_mem_src(&cinfo_, file.data(), file.size());
    jpeg_read_header(&cinfo_, TRUE);
    jpeg_read_coefficients(&cinfo_);
    jpeg_abort_decompress(&cinfo_);
  }

 private:
  jpeg_error_mgr errors_ = {};
  jpeg_decompress_struct cinfo_ = {};
};

void must(const Outcome& outcome) {
  if (outcome.ok()) return;
  std::fprintf(stderr, "%s\n", outcome.message.c_str());
  std::exit(1);
}

class Bench {
 public:
  explicit Bench(std::vector<Bytes> files) : files_(std::move(files)), rows_(files_.size() * kSide * kSide * 3) {
    for (size_t i = 0; i < files_.size(); ++i) {
      addresses_.push_back(reinterpret_cast<uintptr_t>(files_[i].data()));
      sizes_.push_back(files_[i].size());
      keys_.push_back(0x9e3779b97f4a7c15u * (i + 1));
      indices_.push_back(static_cast<int64_t>(i));
    }
    // The fastest path first: the one that the whole kernel takes.
    for (const SimdPath* path : simd_paths()) {
      scratches_.push_back(std::make_unique<Scratch>(*path));
      resizes_.emplace_back(scratches_.size() == 1 ? "resize" : "resize, " + std::string(path->name));
    }
  }

  void round() {
    for (size_t i = 0; i < files_.size(); ++i) run_stages(i);
    whole_.time([&] { run_whole(); });
    for (Stage* stage : stages()) stage->end_round(files_.size());
  }

  void print() {
    std::printf("{\n");
    const auto all = stages();
    for (Stage* stage : all) stage->print(stage == all.back());
    std::printf("}\n");
  }

 private:
  std::vector<Stage*> stages() {
    std::vector<Stage*> all{&entropy_, &full_, &partial_};
    for (Stage& resize : resizes_) all.push_back(&resize);
    all.insert(all.end(), {&layout_, &whole_});
    return all;
  }

  void run_stages(size_t i) {
    const Bytes& file = files_[i];
    Workspace& workspace = Workspace::of_this_thread();
    entropy_.time([&] { coefficients_.decode(file); });
    full_.time([&] {
      must(workspace.decoder.open(file.data(), file.size(), false, {}));
      const Header& header = workspace.decoder.header();
      pixels_.resize(static_cast<size_t>(header.width) * header.height * 3);
      must(workspace.decoder.read_all(pixels_.data()));
    });
    Plan plan;
    Pixels pixels;
    partial_.time([&] {
      must(workspace.decoder.open(file.data(), file.size(), false, {}));
      const Header& header = workspace.decoder.header();
      must(make_plan(geometry_, {header.height, header.width}, keys_[i], {}, plan));
      must(workspace.decoder.read(needed_window(plan, geometry_.filter), 1, workspace.decoded, pixels));
    });
    finish_in_stages(plan, pixels, workspace, i);
  }

  void finish_in_stages(const Plan& plan, const Pixels& pixels, Workspace& workspace, size_t i) {
    const Window all{0, 0, kSide, kSide};
    const int width = plan.crop.width, height = plan.crop.height;
    const Window region = source_window(width, height, kSide, kSide, all, geometry_.filter);
    uint8_t* resized = workspace.resized.reserve(size_t{4} * kSide * kSide);
    for (size_t path = resizes_.size(); path-- > 0;) {
      resizes_[path].time([&] {
        resize(pixels, region, width, height, kSide, kSide, all, geometry_.filter, *scratches_[path], resized,
               4 * kSide);
      });
    }
    uint8_t* row = rows_.data() + i * kSide * kSide * 3;
    layout_.time([&] { lay_out({resized, 4 * kSide, 4}, kSide, kSide, plan.flip, false, 1, nullptr, row); });
  }

  void run_whole() {
    Report report(files_.size());
    const Destination destination{.data = rows_.data(),
                                  .height = kSide,
                                  .width = kSide,
                                  .channels_last = false,
                                  .element_size = 1,
                                  .lut = nullptr,
                                  .rows = indices_.data()};
    run_jpegs(pool_, geometry_, {files_.size(), addresses_.data(), sizes_.data()}, {keys_.data(), nullptr, nullptr},
              destination, report);
    for (size_t i = 0; i < files_.size(); ++i) {
      must({.status = static_cast<Status>(report.status()[i]), .message = report.message(i)});
    }
  }

  std::vector<Bytes> files_;
  std::vector<uint64_t> addresses_, sizes_, keys_;
  std::vector<int64_t> indices_;
  Bytes rows_, pixels_;
  Geometry geometry_ = crop_geometry();
  Pool pool_{0};
  Entropy coefficients_;
  std::vector<std::unique_ptr<Scratch>> scratches_;
  std::vector<Stage> resizes_;
  Stage entropy_{"entropy decoding alone, libjpeg-turbo"}, full_{"full decode"}, partial_{"partial decode"},
      layout_{"layout"}, whole_{"whole kernel"};
};

}  // namespace
}  // namespace headrace

int main(int argc, char** argv) {
  if (argc < 3) {
    std::fprintf(stderr, "usage: stages ROUNDS FILE...\n");
    return 2;
  }
  std::vector<headrace::Bytes> files;
  for (int i = 2; i < argc; ++i) files.push_back(headrace::read_file(argv[i]));
  headrace::Bench bench(std::move(files));
  for (int round = std::atoi(argv[1]); round > 0; --round) bench.round();
  bench.print();
  return 0;
}
