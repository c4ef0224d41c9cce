// Drives a fuzz target without libFuzzer: every seed as it is, then random mutations of seeds, always the same ones.
//
// Usage: TARGET [-runs=N] [-seed=N] [-dict=FILE] FOLDER|FILE...
// On a crash the input in hand lies in crash-input, and the sanitiser's report names the place.
#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <vector>

#include "fuzz/target.h"

namespace {

using Bytes = std::vector<uint8_t>;

constexpr size_t kMaxInputBytes = size_t{1} << 16;

struct Options {
  long runs = 10000;
  unsigned seed = 1;
  std::string dictionary;
  std::vector<std::filesystem::path> inputs;
};

Options parse(int argc, char** argv) {
  Options options;
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    if (argument.starts_with("-runs=")) {
      options.runs = std::atol(argument.c_str() + 6);
    } else if (argument.starts_with("-seed=")) {
      options.seed = static_cast<unsigned>(std::atol(argument.c_str() + 6));
    } else if (argument.starts_with("-dict=")) {
      options.dictionary = argument.substr(6);
    } else if (std::filesystem::exists(argument)) {
      options.inputs.emplace_back(argument);
    } else {
      std::fprintf(stderr, "%s: no such file; usage: [-runs=N] [-seed=N] [-dict=FILE] FOLDER|FILE...\n", argv[i]);
      std::exit(2);
    }
  }
  return options;
}

Bytes read_file(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return Bytes(std::istreambuf_iterator<char>(file), {});
}

std::vector<Bytes> read_seeds(const std::vector<std::filesystem::path>& inputs) {
  std::vector<std::filesystem::path> files;
  for (const auto& input : inputs) {
    if (!std::filesystem::is_directory(input)) {
      files.push_back(input);
      continue;
    }
    for (const auto& entry : std::filesystem::directory_iterator(input)) files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  std::vector<Bytes> seeds;
  for (const auto& file : files) seeds.push_back(read_file(file));
  return seeds;
}

// A token of libFuzzer's dictionary format: what is between the quotes, \xHH and \\ resolved.
Bytes token_of(const std::string& line) {
  Bytes token;
  for (size_t i = line.find('"') + 1; i < line.size() && line[i] != '"'; ++i) {
    if (line[i] != '\\') {
      token.push_back(static_cast<uint8_t>(line[i]));
    } else if (line[i + 1] == 'x') {
      token.push_back(static_cast<uint8_t>(std::stoi(line.substr(i + 2, 2), nullptr, 16)));
      i += 3;
    } else {
      token.push_back(static_cast<uint8_t>(line[++i]));
    }
  }
  return token;
}

std::vector<Bytes> read_dictionary(const std::string& path) {
  std::vector<Bytes> tokens;
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    if (!line.empty() && line[0] != '#') tokens.push_back(token_of(line));
  }
  return tokens;
}

class Mutator {
 public:
  Mutator(std::vector<Bytes> seeds, std::vector<Bytes> tokens, unsigned seed)
      : seeds_(std::move(seeds)), tokens_(std::move(tokens)), random_(seed) {}

  Bytes next() {
    Bytes bytes = seeds_[below(seeds_.size())];
    for (size_t changes = 1 + below(6); changes > 0; --changes) change(bytes);
    if (bytes.size() > kMaxInputBytes) bytes.resize(kMaxInputBytes);
    return bytes;
  }

 private:
  size_t below(size_t bound) { return bound == 0 ? 0 : random_() % bound; }

  void change(Bytes& bytes) {
    const size_t at = below(bytes.size());
    switch (below(tokens_.empty() ? 6 : 7)) {
      case 0:
        return set(bytes, at, static_cast<uint8_t>(random_()));
      case 1:
        return bytes.empty() ? void() : set(bytes, at, bytes[at] ^ static_cast<uint8_t>(1U << below(8)));
      case 2:
        return set(bytes, at, below(2) != 0 ? 0xff : 0);
      case 3:
        return bytes.resize(at);
      case 4:
        return erase(bytes, at);
      case 5:
        return splice(bytes, at);
      default:
        return write(bytes, at, tokens_[below(tokens_.size())]);
    }
  }

  static void set(Bytes& bytes, size_t at, uint8_t value) {
    if (!bytes.empty()) bytes[at] = value;
  }

  void erase(Bytes& bytes, size_t at) {
    const size_t size = std::min(bytes.size() - at, 1 + below(64));
    bytes.erase(bytes.begin() + at, bytes.begin() + at + size);
  }

  // A piece of another seed, over what is there or between.
  void splice(Bytes& bytes, size_t at) {
    const Bytes& other = seeds_[below(seeds_.size())];
    const size_t from = below(other.size());
    const Bytes piece(other.begin() + from, other.begin() + from + std::min(other.size() - from, 1 + below(600)));
    if (below(2) != 0) {
      write(bytes, at, piece);
    } else {
      bytes.insert(bytes.begin() + at, piece.begin(), piece.end());
    }
  }

  static void write(Bytes& bytes, size_t at, const Bytes& piece) {
    if (bytes.size() < at + piece.size()) bytes.resize(at + piece.size());
    std::copy(piece.begin(), piece.end(), bytes.begin() + at);
  }

  std::vector<Bytes> seeds_;
  std::vector<Bytes> tokens_;
  std::mt19937 random_;
};

const Bytes* in_hand = nullptr;

void execute(const Bytes& bytes) {
  // A block of its own size: a read one byte past the input is seen.
  std::vector<uint8_t> exact(bytes);
  exact.shrink_to_fit();
  in_hand = &bytes;
  LLVMFuzzerTestOneInput(exact.data(), exact.size());
}

void save_input() {
  if (in_hand == nullptr) return;
  std::ofstream("crash-input", std::ios::binary)
      .write(reinterpret_cast<const char*>(in_hand->data()), static_cast<std::streamsize>(in_hand->size()));
  std::fprintf(stderr, "The input lies in crash-input\n");
}

}  // namespace

// Of the sanitisers' runtime: calls back before a report ends the process.
extern "C" void __sanitizer_set_death_callback(void (*callback)()) __attribute__((weak));

int main(int argc, char** argv) {
  const Options options = parse(argc, argv);
  const std::vector<Bytes> seeds = read_seeds(options.inputs);
  if (seeds.empty()) {
    std::fprintf(stderr, "no seeds given\n");
    return 2;
  }
  if (__sanitizer_set_death_callback != nullptr) __sanitizer_set_death_callback(save_input);
  std::signal(SIGABRT, [](int) { save_input(); });
  for (const Bytes& seed : seeds) execute(seed);
  Mutator mutator(seeds, read_dictionary(options.dictionary), options.seed);
  for (long run = 0; run < options.runs; ++run) {
    const Bytes bytes = mutator.next();
    execute(bytes);
  }
  std::printf("%zu seeds and %ld mutations\n", seeds.size(), options.runs);
  return 0;
}
