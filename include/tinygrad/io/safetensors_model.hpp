// A model's safetensors as one list of tensors, whether they lie in one file or in numbered shards with an index.
//
//   model.safetensors                          one file
//   model.safetensors.index.json               {"metadata": {...}, "weight_map": {"tensor": "shard file", ...}}
//   model-00001-of-00002.safetensors ...       beside the index
// The weight map decides: it must name an existing tensor in an existing shard for every entry; tensors of a shard that
// it does not name are not part of the model. Shards are looked for in the folder of the index and nowhere else.
#pragma once

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <tinygrad/io/json.hpp>
#include <tinygrad/io/safetensors.hpp>
#include <utility>
#include <vector>

namespace tinygrad::inline TINYGRAD_ABI {

/// A tensor and the file it lies in. Valid as long as the model.
struct located_tensor {
  const safetensors_file* file;
  const tensor_info* info;
};

class safetensors_model {
 public:
  /// Opens a .safetensors file, an index (.json), or a folder that holds model.safetensors or its index.
  /// Throws io_error or format_error.
  explicit safetensors_model(const std::string& path, file_access access = file_access::map) : access_(access) {
    const std::string place = detail::is_special_file(path) ? in_folder(path) : path;
    if (place.ends_with(".json")) {
      open_index(place);
    } else {
      files_.emplace_back(place, access_);
      for (const tensor_info& info : files_.front().tensors()) tensors_.push_back({&files_.front(), &info});
    }
    std::sort(tensors_.begin(), tensors_.end(),
              [](const located_tensor& a, const located_tensor& b) { return a.info->name < b.info->name; });
  }
  safetensors_model(safetensors_model&&) noexcept = default;
  safetensors_model& operator=(safetensors_model&&) noexcept = default;

  /// All tensors of the model, sorted by name.
  [[nodiscard]] const std::vector<located_tensor>& tensors() const noexcept { return tensors_; }
  [[nodiscard]] const std::vector<safetensors_file>& files() const noexcept { return files_; }
  /// The tensor called `name`, or nothing.
  [[nodiscard]] std::optional<located_tensor> find(std::string_view name) const noexcept {
    const auto place =
        std::lower_bound(tensors_.begin(), tensors_.end(), name,
                         [](const located_tensor& tensor, std::string_view key) { return tensor.info->name < key; });
    if (place == tensors_.end() || place->info->name != name) return std::nullopt;
    return *place;
  }

 private:
  static std::string in_folder(const std::string& folder) {
    const std::string single = folder + "/model.safetensors";
    return detail::file_exists(single) ? single : single + ".index.json";
  }

  void open_index(const std::string& path) {
    const json_document index = read_json_file(path);
    const json_object& map = index.root()["weight_map"].object();
    const std::size_t slash = path.find_last_of(detail::path_separators);
    const std::string folder = slash == std::string::npos ? "" : path.substr(0, slash + 1);

    std::vector<std::string> shards;
    for (const json_member& entry : map) shards.push_back(shard_name(json_ref(entry.value, index.path)));
    std::sort(shards.begin(), shards.end());
    shards.erase(std::unique(shards.begin(), shards.end()), shards.end());
    files_.reserve(shards.size());  // tensors_ points into files_
    for (const std::string& shard : shards) files_.emplace_back(folder + shard, access_);

    for (const json_member& entry : map) {
      const auto shard = std::lower_bound(shards.begin(), shards.end(), *entry.value.as_string());
      const safetensors_file& file = files_[static_cast<std::size_t>(shard - shards.begin())];
      const tensor_info* info = file.find(entry.key);
      if (info == nullptr)
        json_ref(entry.value, index.path)
            .fail("tensor " + detail::in_quotes(entry.key) + " is not in " + file.path() +
                  ", where weight_map says it is");
      tensors_.push_back({&file, info});
    }
  }

  // A shard's file name; anything that could lead out of the folder is refused.
  static const std::string& shard_name(const json_ref& entry) {
    const std::string& name = entry.string();
    if (name.empty() || name == "." || name == ".." || name.find_first_of(std::string_view("/\\:\0", 4)) != name.npos)
      entry.fail("a shard must be a plain file name beside the index, not " + detail::in_quotes(name));
    return name;
  }

  file_access access_;
  std::vector<safetensors_file> files_;
  std::vector<located_tensor> tensors_;
};

}  // namespace tinygrad::inline TINYGRAD_ABI
