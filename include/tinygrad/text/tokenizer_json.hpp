// Hugging Face's tokenizer.json: byte-level BPE, and BPE over "▁" with byte tokens (Llama 2, Mistral, TinyLlama).
//
// The file describes a tokenizer as a chain of parts with options. What a part does is taken over only where it is
// known exactly; anything else is a format_error that names it, since a tokenizer that is nearly right fails in
// silence.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <tinygrad/core/config.hpp>
#include <tinygrad/core/error.hpp>
#include <tinygrad/io/json.hpp>
#include <tinygrad/text/bpe.hpp>
#include <tinygrad/text/pretokenizer.hpp>
#include <tinygrad/text/sentencepiece.hpp>
#include <tinygrad/text/token.hpp>
#include <utility>
#include <variant>
#include <vector>

namespace tinygrad::inline TINYGRAD_ABI {

/// What a tokenizer file says, before the tokenizer is made of it.
using any_vocabulary = std::variant<bpe_vocabulary, sentencepiece_vocabulary>;

namespace json_tokenizer {

/// Puts `text` at place `id`. Ids may leave holes, but not so many that a small file makes a large vector.
inline void place_token(std::vector<std::string>& tokens, const std::string& text, const json_ref& id,
                        std::size_t entries) {
  const std::uint64_t place = id.uint64();
  if (place >= entries * 4 + 65536) {
    id.fail("token '" + text + "' has id " + std::to_string(place) + ", far above the " + std::to_string(entries) +
            " entries");
  }
  if (place >= tokens.size()) tokens.resize(static_cast<std::size_t>(place) + 1);
  std::string& slot = tokens[static_cast<std::size_t>(place)];
  if (!slot.empty() && slot != text) {
    id.fail("tokens '" + slot + "' and '" + text + "' both have id " + std::to_string(place));
  }
  slot = text;
}

/// {"token": id, ...} as a vector by id.
inline std::vector<std::string> tokens_of(const json_ref& vocab, const std::string& path) {
  const json_object& entries = vocab.object();
  std::vector<std::string> tokens;
  tokens.reserve(entries.size());
  for (const json_member& entry : entries) place_token(tokens, entry.key, {entry.value, path}, entries.size());
  return tokens;
}

inline bool flag(const json_ref& object, std::string_view name, bool otherwise) {
  const auto member = object.find(name);
  return member && !member->is_null() ? member->boolean() : otherwise;
}
inline std::string text(const json_ref& object, std::string_view name) {
  const auto member = object.find(name);
  return member && !member->is_null() ? member->string() : std::string();
}
/// The member when it is there and not null.
inline std::optional<json_ref> part(const json_ref& object, std::string_view name) {
  const auto member = object.find(name);
  return member && !member->is_null() ? member : std::nullopt;
}

/// Calls f with each part of a chain: `chain` itself, or the members of its list when it is a Sequence.
template <class F>
void for_each_part(const json_ref& chain, const char* list, const std::string& path, F&& f) {
  if (chain["type"].string() != "Sequence") return f(chain);
  for (const json_value& value : chain[list].array()) for_each_part(json_ref(value, path), list, path, f);
}

// --- the byte-level kind -----------------------------------------------------------------------------------------

inline constexpr std::string_view llama3_expression =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
inline constexpr std::string_view qwen2_expression =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
inline constexpr std::string_view qwen35_expression =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
inline constexpr std::string_view tekken_expression =
    R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
inline constexpr std::string_view gpt4o_expression =
    R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+)";

struct known_chain {
  std::string_view expressions;  // of Split parts, '\x1F' behind each; <digits> and <gpt2> for parts that are no Split
  pre_tokenizer kind;
};

/// One part of a pre-tokenizer, in the words of known_chain.
inline std::string chain_word(const json_ref& part, const std::string& path) {
  const std::string& type = part["type"].string();
  if (type == "ByteLevel") {
    if (flag(part, "add_prefix_space", false)) part.fail("add_prefix_space is not supported");
    return flag(part, "use_regex", true) ? "<gpt2>\x1F" : "";
  }
  if (type == "Digits" && flag(part, "individual_digits", false)) return "<digits>\x1F";
  if (type != "Split") part.fail("pre-tokenizer part '" + type + "' is not supported");
  if (part["behavior"].string() != "Isolated" || flag(part, "invert", false)) {
    part.fail("only Split parts that are Isolated and not inverted are supported");
  }
  const json_ref pattern = part["pattern"];
  static_cast<void>(path);
  return (pattern.find("Regex") ? pattern["Regex"] : pattern["String"]).string() + "\x1F";
}

inline pre_tokenizer pre_tokenizer_of(const json_ref& chain, const std::string& path) {
  const auto alone = [](std::string_view expression) { return std::string(expression) + "\x1F"; };
  std::string words;
  for_each_part(chain, "pretokenizers", path, [&](const json_ref& part) { words += chain_word(part, path); });
  if (words == "<gpt2>\x1F") return pre_tokenizer::gpt2;
  if (words == "<digits>\x1F<gpt2>\x1F") return pre_tokenizer::starcoder;
  if (words == alone(llama3_expression)) return pre_tokenizer::llama3;
  if (words == alone(qwen2_expression)) return pre_tokenizer::qwen2;
  if (words == alone(qwen35_expression)) return pre_tokenizer::qwen35;
  if (words == alone(tekken_expression)) return pre_tokenizer::tekken;
  if (words == alone(gpt4o_expression)) return pre_tokenizer::gpt4o;
  if (words == "[\r\n]\x1F\\s?\\p{L}+\x1F\\s?\\p{P}+\x1F[一-龥ࠀ-一가-퟿]+\x1F<digits>\x1F") {
    return pre_tokenizer::deepseek_coder;
  }
  for (char& c : words) c = c == '\x1F' ? ' ' : c;
  chain.fail("unknown pre-tokenizer: " + words);
}

/// True when text is to be composed (NFC). Any other normaliser is refused.
inline bool wants_nfc(const json_ref& normalizer, const std::string& path) {
  bool nfc = false;
  for_each_part(normalizer, "normalizers", path, [&](const json_ref& part) {
    if (part["type"].string() != "NFC") part.fail("normalizer '" + part["type"].string() + "' is not supported");
    nfc = true;
  });
  return nfc;
}

// --- what both kinds share ---------------------------------------------------------------------------------------

/// "left right" from either spelling of a merge, "left right" or ["left", "right"].
inline std::vector<std::string> merges_of(const json_ref& list, const std::string& path) {
  std::vector<std::string> merges;
  for (const json_value& value : list.array()) {
    const json_ref merge(value, path);
    if (merge.kind() == json_kind::string) {
      merges.push_back(merge.string());
    } else {
      const std::string &left = merge[0].string(), &right = merge[1].string();
      if (left.find(' ') != std::string::npos || right.find(' ') != std::string::npos) merge.fail("a blank in a merge");
      merges.push_back(left + " " + right);
    }
  }
  return merges;
}

inline std::vector<added_token> added_tokens_of(const json_ref& root, const std::string& path,
                                                std::vector<std::string>& tokens) {
  std::vector<added_token> added;
  const auto list = part(root, "added_tokens");
  if (!list) return added;
  const std::size_t entries = tokens.size() + list->array().size();
  for (const json_value& value : list->array()) {
    const json_ref token(value, path);
    added_token a{.text = token["content"].string(),
                  .control = flag(token, "special", false),
                  .lstrip = flag(token, "lstrip", false),
                  .rstrip = flag(token, "rstrip", false),
                  .single_word = flag(token, "single_word", false)};
    place_token(tokens, a.text, token["id"], entries);
    a.id = static_cast<token_id>(token["id"].uint64());
    added.push_back(std::move(a));
  }
  return added;
}

/// BOS and EOS from the post-processor's template, {"single": [{SpecialToken: {id}}, {Sequence}, ...]}.
inline void read_template(const json_ref& processor, const std::string& path, const std::vector<added_token>& added,
                          special_ids& special) {
  for_each_part(processor, "processors", path, [&](const json_ref& part) {
    if (part["type"].string() == "ByteLevel") return;
    if (part["type"].string() != "TemplateProcessing") {
      part.fail("post-processor '" + part["type"].string() + "' is not supported");
    }
    bool before = true;
    for (const json_value& value : part["single"].array()) {
      const json_ref item(value, path);
      const auto token = item.find("SpecialToken");
      if (!token) {
        before = false;
        continue;
      }
      const std::string& name = (*token)["id"].string();
      for (const added_token& a : added) {
        if (a.text != name) continue;
        (before ? special.bos : special.eos) = a.id;
        (before ? special.add_bos : special.add_eos) = true;
      }
    }
  });
}

inline bpe_vocabulary byte_level(const json_ref& root, const std::string& path) {
  const json_ref model = root["model"];
  bpe_vocabulary v;
  v.tokens = tokens_of(model["vocab"], path);
  v.merges = merges_of(model["merges"], path);
  v.ignore_merges = flag(model, "ignore_merges", false);
  if (const auto normalizer = part(root, "normalizer")) v.nfc = wants_nfc(*normalizer, path);
  v.pre = pre_tokenizer_of(root["pre_tokenizer"], path);
  v.added = added_tokens_of(root, path, v.tokens);
  if (const auto processor = part(root, "post_processor")) read_template(*processor, path, v.added, v.special);
  return v;
}

// --- the kind of Llama 2 -----------------------------------------------------------------------------------------

/// Prepend "▁" and Replace " " by "▁", as a normaliser; nothing else.
inline void read_blanks(const json_ref& normalizer, const std::string& path, sentencepiece_vocabulary& v) {
  for_each_part(normalizer, "normalizers", path, [&](const json_ref& part) {
    const std::string& type = part["type"].string();
    if (type == "Prepend" && part["prepend"].string() == sentencepiece_blank) {
      v.normalizer.add_dummy_prefix = true;
    } else if (type != "Replace" || part["pattern"]["String"].string() != " " ||
               part["content"].string() != sentencepiece_blank) {
      part.fail("normalizer '" + type + "' is not supported here");
    }
  });
}

/// The same as a pre-tokenizer: Metaspace, without splitting.
inline void read_metaspace(const json_ref& pre, sentencepiece_vocabulary& v) {
  if (pre["type"].string() != "Metaspace")
    pre.fail("pre-tokenizer '" + pre["type"].string() + "' is not supported here");
  if (flag(pre, "split", true)) pre.fail("a Metaspace that splits is not supported");
  const auto scheme = part(pre, "prepend_scheme");
  const std::string name = scheme ? scheme->string() : flag(pre, "add_prefix_space", true) ? "always" : "never";
  if (name != "always" && name != "first" && name != "never") pre.fail("unknown prepend_scheme '" + name + "'");
  v.normalizer.add_dummy_prefix = name != "never";
  v.prefix_first_only = name == "first";
}

inline sentencepiece_vocabulary blank_level(const json_ref& root, const std::string& path) {
  const json_ref model = root["model"];
  sentencepiece_vocabulary v;
  v.pieces = tokens_of(model["vocab"], path);
  v.merges = merges_of(model["merges"], path);
  v.normalizer.add_dummy_prefix = false;
  if (const auto normalizer = part(root, "normalizer")) read_blanks(*normalizer, path, v);
  if (const auto pre = part(root, "pre_tokenizer")) read_metaspace(*pre, v);
  const std::vector<added_token> added = added_tokens_of(root, path, v.pieces);
  v.scores.resize(v.pieces.size());
  v.types.assign(v.pieces.size(), piece_type::normal);
  const std::string unknown = text(model, "unk_token");
  for (std::size_t k = 0; k < v.pieces.size(); ++k) {
    if (spm_detail::byte_of_piece(v.pieces[k])) v.types[k] = piece_type::byte;
    if (v.pieces[k].empty()) v.types[k] = piece_type::control;  // a hole among the ids
  }
  for (const added_token& a : added) {
    if (a.lstrip || a.rstrip || a.single_word) root.fail("added token '" + a.text + "' has options not supported here");
    v.types[static_cast<std::size_t>(a.id)] = a.control ? piece_type::control : piece_type::user_defined;
    if (a.text == unknown) v.special.unk = a.id;
  }
  if (const auto processor = part(root, "post_processor")) read_template(*processor, path, added, v.special);
  return v;
}

}  // namespace json_tokenizer

/// What a parsed tokenizer.json describes.
[[nodiscard]] inline any_vocabulary vocabulary_of(const json_document& document) {
  using namespace json_tokenizer;
  const json_ref root = document.root(), model = root["model"];
  const auto type = part(model, "type");
  if (type && type->string() != "BPE") model.fail("model type '" + type->string() + "' is not supported; BPE is");
  if (!text(model, "continuing_subword_prefix").empty() || !text(model, "end_of_word_suffix").empty()) {
    model.fail("prefixes and suffixes of subwords are not supported");
  }
  if (flag(model, "byte_fallback", false)) return blank_level(root, document.path);
  return byte_level(root, document.path);
}

}  // namespace tinygrad::inline TINYGRAD_ABI
