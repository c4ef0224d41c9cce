#include "tar/group.h"

#include <algorithm>
#include <functional>
#include <map>
#include <numeric>

#include "tar/links.h"

namespace headrace::tar {

namespace {

constexpr uint32_t kNone = 0xffffffff;

bool is_dunder(std::string_view text) { return text.size() >= 4 && text.starts_with("__") && text.ends_with("__"); }

// Field names to numbers, in the order of their first use. Neighbouring samples ask for the same few names in turn, so
// the name after the last one found is tried before the map is asked.
class FieldTable {
 public:
  uint32_t id(std::string_view field) {
    lowered_.assign(field);
    for (char& c : lowered_) {
      if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
    }
    if (!names_.empty()) {
      guess_ = guess_ + 1 < names_.size() ? guess_ + 1 : 0;
      if (names_[guess_] == lowered_) return static_cast<uint32_t>(guess_);
    }
    const auto [found, is_new] = ids_.try_emplace(lowered_, static_cast<uint32_t>(names_.size()));
    if (is_new) names_.push_back(lowered_);
    guess_ = found->second;
    return found->second;
  }

  std::vector<std::string> take_names() { return std::move(names_); }

 private:
  std::string lowered_;
  std::vector<std::string> names_;
  std::map<std::string, uint32_t> ids_;  // a tree: hostile names cannot make it slow
  size_t guess_ = 0;
};

// Members of one key that lie side by side.
struct Run {
  std::string_view key;
  size_t hash;
  uint32_t first;  // in `Grouper::kept_`
  uint32_t sample;
};

class Grouper {
 public:
  explicit Grouper(const Members& members) : members_(members), resolver_(members) {}

  Samples run() {
    find_runs();
    number_samples();
    sort_members();
    fill();
    out_.fields = fields_.take_names();
    return std::move(out_);
  }

 private:
  void find_runs() {
    for (size_t i = 0; i < members_.count(); ++i) {
      if (members_.types[i] == MemberType::kDirectory) continue;
      const auto split = split_name(members_.name(i));
      if (!split) continue;
      if (runs_.empty() || runs_.back().key != split->key) {
        runs_.push_back(
            {split->key, std::hash<std::string_view>{}(split->key), static_cast<uint32_t>(kept_.size()), kNone});
      }
      kept_.push_back(static_cast<uint32_t>(i));
    }
  }

  // Runs of the same key get the same number. Sorting (not a hash table) keeps hostile keys from making this slow.
  void number_samples() {
    std::vector<uint32_t> order(runs_.size());
    std::iota(order.begin(), order.end(), 0);
    std::sort(order.begin(), order.end(), [this](uint32_t a, uint32_t b) {
      const Run& left = runs_[a];
      const Run& right = runs_[b];
      if (left.hash != right.hash) return left.hash < right.hash;
      const int compared = left.key.compare(right.key);
      return compared != 0 ? compared < 0 : a < b;
    });
    std::vector<uint32_t> first_run(runs_.size());
    for (size_t i = 0; i < order.size(); ++i) {
      const bool same = i > 0 && runs_[order[i]].key == runs_[order[i - 1]].key;
      first_run[order[i]] = same ? first_run[order[i - 1]] : order[i];
    }
    uint32_t num_samples = 0;
    for (uint32_t r = 0; r < runs_.size(); ++r) {
      const bool is_first = first_run[r] == r;
      runs_[r].sample = is_first ? num_samples++ : runs_[first_run[r]].sample;
      if (is_first) {
        out_.keys += runs_[r].key;
        out_.key_starts.push_back(out_.keys.size());
      } else if (!out_.interleaved) {
        out_.interleaved = runs_[r].sample;
      }
    }
    num_samples_ = num_samples;
  }

  uint32_t run_length(size_t run) const {
    const size_t end = run + 1 < runs_.size() ? runs_[run + 1].first : kept_.size();
    return static_cast<uint32_t>(end - runs_[run].first);
  }

  // A counting sort by sample; members of a sample stay in the order of the shard.
  void sort_members() {
    out_.starts.assign(num_samples_ + 1, 0);
    for (size_t r = 0; r < runs_.size(); ++r) out_.starts[runs_[r].sample + 1] += run_length(r);
    std::partial_sum(out_.starts.begin(), out_.starts.end(), out_.starts.begin());
    if (!out_.interleaved) return;  // they are in order already
    std::vector<uint32_t> next(out_.starts.begin(), out_.starts.end() - 1);
    std::vector<uint32_t> sorted(kept_.size());
    for (size_t r = 0; r < runs_.size(); ++r) {
      for (uint32_t i = 0; i < run_length(r); ++i) sorted[next[runs_[r].sample]++] = kept_[runs_[r].first + i];
    }
    kept_ = std::move(sorted);
  }

  void fill() {
    out_.offsets.reserve(kept_.size());
    out_.sizes.reserve(kept_.size());
    out_.field_ids.reserve(kept_.size());
    for (uint32_t sample = 0; sample < num_samples_; ++sample) {
      for (uint32_t slot = out_.starts[sample]; slot < out_.starts[sample + 1]; ++slot) place(kept_[slot], sample);
    }
  }

  void place(uint32_t member, uint32_t sample) {
    const std::string_view field = split_name(members_.name(member))->field;
    const uint32_t id = fields_.id(field);
    if (id >= last_sample_.size()) last_sample_.resize(id + 1, kNone);
    uint32_t source = member;
    if (members_.types[member] == MemberType::kCut) {
      // The fault that ended the shard says what there is to say of this member.
    } else if (last_sample_[id] == sample) {
      add_fault(ContentKind::kDuplicate, sample, member, "has a field twice");
    } else if (is_dunder(field)) {
      add_fault(ContentKind::kReserved, sample, member, "uses a reserved name as a field");
    } else {
      source = file_of(member, sample);
    }
    last_sample_[id] = sample;
    out_.field_ids.push_back(id);
    out_.offsets.push_back(members_.offsets[source]);
    out_.sizes.push_back(members_.sizes[source]);
  }

  // The member whose bytes a member stands for: itself, or what a link leads to.
  uint32_t file_of(uint32_t member, uint32_t sample) {
    const MemberType type = members_.types[member];
    if (type == MemberType::kFile) return member;
    if (type == MemberType::kOther) {
      add_fault(ContentKind::kUnsupported, sample, member, "holds a member that is neither a file nor a link");
      return member;
    }
    const auto link = std::lower_bound(members_.links.begin(), members_.links.end(), member) - members_.links.begin();
    const auto target = resolver_.resolve(static_cast<size_t>(link));
    if (target) return *target;
    add_fault(ContentKind::kUnresolved, sample, member, std::string(members_.target(static_cast<size_t>(link))));
    return member;
  }

  void add_fault(ContentKind kind, uint32_t sample, uint32_t member, std::string text) {
    out_.faults.push_back({kind, sample, member, std::move(text)});
  }

  const Members& members_;
  LinkResolver resolver_;
  std::vector<Run> runs_;
  std::vector<uint32_t> kept_;  // members that belong to samples
  uint32_t num_samples_ = 0;
  FieldTable fields_;
  std::vector<uint32_t> last_sample_;  // by field id: the sample that had it last
  Samples out_;
};

}  // namespace

std::optional<SplitName> split_name(std::string_view name) {
  const size_t base_at = name.rfind('/') + 1;  // npos + 1 is 0
  const std::string_view base = name.substr(base_at);
  const size_t dot = base.find('.');
  if (dot == std::string_view::npos || dot == 0 || is_dunder(base)) return std::nullopt;
  return SplitName{name.substr(0, base_at + dot), base.substr(dot + 1)};
}

Samples group(const Members& members) { return Grouper(members).run(); }

}  // namespace headrace::tar
