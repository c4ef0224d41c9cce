// The libjpeg-turbo headers, which need these two before them and bring no C++ guards of their own everywhere.
#pragma once
#include <cstddef>
#include <cstdio>
extern "C" {
#include <jerror.h>
#include <jpeglib.h>
}
