// info, quantize, convert: what is in a file, and files made from files.
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <string>
#include <tinygrad/models/export_gguf.hpp>
#include <tinygrad/models/load_llama.hpp>
#include <tinygrad/models/load_llama2c.hpp>
#include <tinygrad/text/gguf_tokenizer.hpp>
#include <tinygrad/text/utf8.hpp>
#include <utility>
#include <variant>
#include <vector>

#include "../support/char_corpus.hpp"
#include "ember.hpp"

namespace ember {

using namespace tinygrad;

void print_json(json_object object) { std::puts(write_json(json_value(std::move(object))).c_str()); }

namespace {

std::string value_text(const gguf_ref& value) {
  const gguf_pair& pair = value.pair();
  if (pair.is_array) return value.kind_text();
  switch (pair.kind) {
    case gguf_kind::string: {
      std::string text(value.text().substr(0, 80));
      return value.text().size() > 80 ? text + "..." : text;
    }
    case gguf_kind::boolean:
      return value.boolean() ? "true" : "false";
    default: {
      char digits[32];
      std::snprintf(digits, sizeof digits, "%.10g", value.number());
      return digits;
    }
  }
}

ggml_type type_called(const std::string& name) {
  for (const ggml_type_info& info : ggml_types) {
    std::string lower(info.name);
    for (char& c : lower) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    if (lower == name) return info.type;
  }
  throw value_error("no tensor type is called " + name);
}

/// The tensors of a file again, matrices in another format where their rows allow it.
class requantizer {
 public:
  requantizer(const gguf_file& file, ggml_type type) : file_(file), type_(type) {}

  void add_all(gguf_writer& out) {
    matrices_.reserve(file_.tensors().size());
    for (const gguf_tensor& tensor : file_.tensors()) {
      const bool matrix = tensor.sizes.size() == 2 && tensor.name != "position_embd.weight";
      if (!matrix || tensor.sizes[1] % info_of(type_).elements != 0) {
        out.add_tensor(tensor.name, tensor.type, tensor.sizes, file_.bytes(tensor));
        continue;
      }
      const auto rows = static_cast<std::size_t>(tensor.sizes[0]), columns = static_cast<std::size_t>(tensor.sizes[1]);
      std::vector<float> values(rows * columns);
      QuantMatrix(tensor.type, rows, columns, file_.bytes(tensor)).dequantise(values);
      matrices_.push_back(QuantMatrix::quantise(type_, rows, columns, values));
      out.add_tensor(tensor.name, type_, tensor.sizes, matrices_.back().bytes());
    }
  }

 private:
  const gguf_file& file_;
  ggml_type type_;
  std::vector<QuantMatrix> matrices_;
};

/// All metadata of a file again.
void copy_metadata(const gguf_file& file, gguf_writer& out) {
  for (const gguf_pair& pair : file.pairs()) {
    if (pair.key == "general.alignment") continue;
    const gguf_ref value = file[pair.key];
    const auto number = [&](auto tag) {
      using stored = decltype(tag);
      if (pair.is_array)
        out.set_array<stored>(pair.key, value.numbers<stored>());
      else if constexpr (std::is_floating_point_v<stored>)
        out.set(pair.key, static_cast<stored>(value.number()));
      else if constexpr (std::is_signed_v<stored>)
        out.set(pair.key, static_cast<stored>(value.int64()));
      else
        out.set(pair.key, static_cast<stored>(value.uint64()));
    };
    switch (pair.kind) {
      case gguf_kind::string:
        if (pair.is_array)
          out.set_texts(pair.key, value.texts());
        else
          out.set(pair.key, value.text());
        break;
      case gguf_kind::boolean:
        if (pair.is_array) throw value_error("arrays of truth values are not copied: " + std::string(pair.key));
        out.set(pair.key, value.boolean());
        break;
      case gguf_kind::u8:
        number(std::uint8_t{});
        break;
      case gguf_kind::i8:
        number(std::int8_t{});
        break;
      case gguf_kind::u16:
        number(std::uint16_t{});
        break;
      case gguf_kind::i16:
        number(std::int16_t{});
        break;
      case gguf_kind::u32:
        number(std::uint32_t{});
        break;
      case gguf_kind::i32:
        number(std::int32_t{});
        break;
      case gguf_kind::f32:
        number(float{});
        break;
      case gguf_kind::u64:
        number(std::uint64_t{});
        break;
      case gguf_kind::i64:
        number(std::int64_t{});
        break;
      case gguf_kind::f64:
        number(double{});
        break;
      case gguf_kind::array:
        throw value_error("arrays of arrays are not copied: " + std::string(pair.key));
    }
  }
}

}  // namespace

namespace {

/// One value of the metadata; arrays and numbers that JSON lacks as they are described to people.
json_value json_of(const gguf_ref& value) {
  const gguf_pair& pair = value.pair();
  if (pair.is_array) return value.kind_text();
  if (pair.kind == gguf_kind::string) return replace_invalid_utf8(value.text());
  if (pair.kind == gguf_kind::boolean) return value.boolean();
  const double number = value.number();
  if (!std::isfinite(number)) return value_text(value);
  if (pair.kind == gguf_kind::f32 || pair.kind == gguf_kind::f64) return number;
  return number < 0 ? json_value(value.int64()) : json_value(value.uint64());
}

int info_gguf(const settings& s, const gguf_file& file) {
  std::uint64_t numbers = 0, bytes = 0;
  json_object metadata;
  json_array tensors;
  for (const gguf_pair& pair : file.pairs())
    metadata.push_back({replace_invalid_utf8(pair.key), json_of(file[pair.key])});
  for (const gguf_tensor& tensor : file.tensors()) {
    tensors.push_back(json_object{{"name", replace_invalid_utf8(tensor.name)},
                                  {"type", name_of(tensor.type)},
                                  {"sizes", json_array(tensor.sizes.begin(), tensor.sizes.end())},
                                  {"bytes", tensor.bytes}});
    numbers += tensor.count();
    bytes += tensor.bytes;
  }
  if (s.json) {
    print_json({{"format", "gguf"},
                {"version", file.version()},
                {"metadata", std::move(metadata)},
                {"tensors", std::move(tensors)},
                {"numbers", numbers},
                {"bytes", bytes}});
    return 0;
  }
  std::printf("%s: GGUF version %u\n", s.model.c_str(), file.version());
  for (const gguf_pair& pair : file.pairs())
    std::printf("  %-42.*s %s\n", static_cast<int>(pair.key.size()), pair.key.data(),
                value_text(file[pair.key]).c_str());
  for (const gguf_tensor& tensor : file.tensors()) {
    std::string sizes;
    for (const std::uint64_t size : tensor.sizes) sizes.append(sizes.empty() ? "" : ", ").append(std::to_string(size));
    std::printf("  %-34s %-6s [%s]\n", tensor.name.c_str(), std::string(name_of(tensor.type)).c_str(), sizes.c_str());
  }
  std::printf("%zu tensors, %ju numbers, %ju bytes\n", file.tensors().size(), std::uintmax_t{numbers},
              std::uintmax_t{bytes});
  return 0;
}

int info_llama2c(const settings& s, const llama_config& c) {
  if (s.json)
    print_json({{"format", "llama2c"},
                {"dim", c.channels},
                {"hidden_dim", c.hidden},
                {"n_layers", c.layers},
                {"n_heads", c.heads},
                {"n_kv_heads", c.groups},
                {"vocab_size", c.vocabulary},
                {"seq_len", c.positions},
                {"tied", c.tied}});
  else
    std::printf(
        "%s: llama2.c checkpoint\n  dim %zu, hidden_dim %zu, n_layers %zu, n_heads %zu, n_kv_heads %zu\n"
        "  vocab_size %zu, seq_len %zu, %s\n",
        s.model.c_str(), c.channels, c.hidden, c.layers, c.heads, c.groups, c.vocabulary, c.positions,
        c.tied ? "the head is the token table" : "a head of its own");
  return 0;
}

bool has_tokenizer(const std::filesystem::path& folder) {
  return std::filesystem::exists(folder / "tokenizer.json") || std::filesystem::exists(folder / "vocab.json");
}

void say_written(const settings& s) {
  const std::uintmax_t from = std::filesystem::is_directory(s.model) ? 0 : std::filesystem::file_size(s.model);
  const std::uintmax_t bytes = std::filesystem::file_size(s.output);
  if (s.json)
    print_json({{"output", s.output}, {"type", s.type}, {"bytes", bytes}});
  else if (from != 0)
    std::printf("%s: %ju bytes, from %ju\n", s.output.c_str(), bytes, from);
  else
    std::printf("%s: %ju bytes\n", s.output.c_str(), bytes);
}

}  // namespace

int info(const settings& s) {
  const auto bytes = std::make_shared<const mapped_file>(s.model);
  if (bytes->text().starts_with("GGUF")) return info_gguf(s, gguf_file(bytes));
  return info_llama2c(s, read_llama2c_config(bytes->bytes(), s.model));
}

int quantize(const settings& s) {
  const gguf_file file(s.model);
  gguf_writer out;
  copy_metadata(file, out);
  requantizer work(file, type_called(s.type));
  work.add_all(out);
  out.write(s.output);
  say_written(s);
  return 0;
}

namespace {

/// Reads the weights of a model made for a folder or checkpoint and writes it with the tokenizer that lies beside them.
template <class Model, class Write>
void convert_weights(const settings& s, Model&& model, std::size_t tokens, bool folder, Write&& write) {
  static_cast<void>(load_weights(model, safetensors_model(s.model)));
  write(s.output, model, type_called(s.type), [&](gguf_writer& out) {
    if (folder && has_tokenizer(s.model)) {
      const any_vocabulary vocabulary = load_vocabulary(s.model);
      const auto* const bpe = std::get_if<bpe_vocabulary>(&vocabulary);
      if (bpe == nullptr) throw value_error(s.model + ": its tokenizer is not byte-level, as GPT-2's is");
      write_vocabulary(out, *bpe, tokens);
      return;
    }
    out.set("tokenizer.ggml.model", "none");
    if (!folder) out.set("tinygrad.characters", example::note_of(s.model, "vocabulary"));
  });
}

}  // namespace

int convert(const settings& s) {
  const bool folder = std::filesystem::is_directory(s.model);
  const json_document document = folder
                                     ? read_json_file(s.model + "/config.json")
                                     : json_document{parse_json(example::note_of(s.model, "config"), s.model), s.model};
  const auto kind = document.root().find("model_type");
  leave_uninitialized open;
  if (kind && kind->string() != "gpt2") {
    const llama_config config = read_llama_config(document);
    convert_weights(s, Llama<float>(config, open), config.vocabulary, folder,
                    [](const auto& path, auto& model, auto... rest) { write_llama_gguf(path, model, rest...); });
  } else {
    const gpt_config config = read_gpt_config(document);
    convert_weights(s, Gpt<float>(config, open), config.vocabulary, folder,
                    [](const auto& path, auto& model, auto... rest) { write_gpt_gguf(path, model, rest...); });
  }
  say_written(s);
  return 0;
}

}  // namespace ember
