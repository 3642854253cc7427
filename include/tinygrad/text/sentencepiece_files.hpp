// SentencePiece tokenizers from their files: tokenizer.model (a protocol buffer), and llama2.c's tokenizer.bin.
//
// Of the protocol buffer only the wire format is needed: a field is a key (number << 3 | wire type) and a value, which
// is a varint (0), eight bytes (1), a length and as many bytes (2) or four bytes (5). Field numbers are those of
// sentencepiece_model.proto.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <tinygrad/core/config.hpp>
#include <tinygrad/core/error.hpp>
#include <tinygrad/io/byte_reader.hpp>
#include <tinygrad/io/mapped_file.hpp>
#include <tinygrad/text/sentencepiece.hpp>
#include <utility>

namespace tinygrad::inline TINYGRAD_ABI {

namespace spm_detail {

/// One field of a message: its number and the value, as a number or as bytes, whichever it was written as.
struct proto_field {
  std::uint32_t number;
  std::uint32_t wire;
  std::uint64_t value;     // wire types 0, 1 and 5
  std::string_view bytes;  // wire type 2
  std::uint64_t offset;    // where the value starts in the file
};

/// Up to ten bytes, seven bits each, the lowest first; more than 64 bits is an error.
inline std::uint64_t read_varint(byte_reader& in) {
  std::uint64_t value = 0;
  for (int shift = 0; shift < 64; shift += 7) {
    const auto byte = in.number<std::uint8_t>("a varint");
    if (shift == 63 && byte > 1) break;
    value |= std::uint64_t{byte & 0x7Fu} << shift;
    if (byte < 0x80) return value;
  }
  in.fail("a varint of more than 64 bits");
}

inline proto_field read_field(byte_reader& in) {
  const std::uint64_t key = read_varint(in);
  if (key >> 3 == 0 || key >> 32 != 0) in.fail("a field with the number " + std::to_string(key >> 3));
  proto_field field{static_cast<std::uint32_t>(key >> 3), static_cast<std::uint32_t>(key & 7), 0, {}, in.offset()};
  switch (field.wire) {
    case 0:
      field.value = read_varint(in);
      break;
    case 1:
      field.value = in.number<std::uint64_t>("a field of eight bytes");
      break;
    case 2: {
      const std::uint64_t length = read_varint(in);
      field.offset = in.offset();
      field.bytes = in.text(length, "field " + std::to_string(field.number));
      break;
    }
    case 5:
      field.value = in.number<std::uint32_t>("a field of four bytes");
      break;
    default:
      in.fail("wire type " + std::to_string(field.wire) + ", which this format does not use");
  }
  return field;
}

/// Builds a vocabulary from ModelProto.
class model_reader {
 public:
  model_reader(std::string_view file, const std::string& path) : file_(file), path_(path) {}

  sentencepiece_vocabulary read() {
    vocabulary_.normalizer.remove_extra_whitespaces = true;  // the defaults of the proto file
    vocabulary_.special = {.bos = 1, .eos = 2, .unk = 0};
    for_each_field(0, file_.size(), [this](const proto_field& field) {
      if (field.number == 1) read_piece(field);
      if (field.number == 2) read_trainer(field);
      if (field.number == 3) read_normalizer(field);
    });
    if (vocabulary_.pieces.empty()) throw format_error(path_, 0, "no pieces: this is no SentencePiece model");
    drop_unused_ids();
    return std::move(vocabulary_);
  }

 private:
  // Calls f(field) for the fields of the message in the bytes [start, end) of the file.
  template <class F>
  void for_each_field(std::uint64_t start, std::uint64_t end, F&& f) const {
    byte_reader in(as_byte_span(file_.substr(0, static_cast<std::size_t>(end))), path_);
    in.bytes(start, "a message");
    while (in.remaining() > 0) f(read_field(in));
  }
  template <class F>
  void for_each_field(const proto_field& message, F&& f) const {
    for_each_field(message.offset, message.offset + bytes_of(message).size(), f);
  }

  void read_piece(const proto_field& message) {
    std::string piece;
    float score = 0;
    std::uint64_t type = 1;
    for_each_field(message, [&](const proto_field& field) {
      if (field.number == 1) piece = bytes_of(field);
      if (field.number == 2) score = float_of(field);
      if (field.number == 3) type = number_of(field);
    });
    if (type < 1 || type > 6)
      throw format_error(path_, message.offset, "piece '" + piece + "' of type " + std::to_string(type));
    vocabulary_.pieces.push_back(std::move(piece));
    vocabulary_.scores.push_back(score);
    vocabulary_.types.push_back(static_cast<piece_type>(type));
  }

  void read_trainer(const proto_field& message) {
    for_each_field(message, [&](const proto_field& field) {
      const auto id = [&] { return static_cast<token_id>(static_cast<std::int64_t>(number_of(field))); };
      switch (field.number) {
        case 3:
          read_kind(field);
          break;
        case 24:
          if (number_of(field)) throw format_error(path_, field.offset, "blanks as suffixes are not supported");
          break;
        case 40:
          vocabulary_.special.unk = id();
          break;
        case 41:
          vocabulary_.special.bos = id();
          break;
        case 42:
          vocabulary_.special.eos = id();
          break;
        case 43:
          vocabulary_.special.pad = id();
          break;
        case 44:
          vocabulary_.unk_surface = bytes_of(field);
          break;
        default:
          break;
      }
    });
  }

  void read_kind(const proto_field& field) {
    const std::uint64_t kind = number_of(field);  // 1 unigram, 2 BPE, 3 words, 4 characters
    if (kind != 1 && kind != 2) {
      throw format_error(path_, field.offset,
                         "model type " + std::to_string(kind) + "; unigram (1) and BPE (2) are known");
    }
    kind_ = kind;
    vocabulary_.unigram = kind == 1;
  }

  void read_normalizer(const proto_field& message) {
    for_each_field(message, [&](const proto_field& field) {
      switch (field.number) {
        case 2:
          try {
            vocabulary_.normalizer.map = CharMap(bytes_of(field));
          } catch (const value_error& e) {
            throw format_error(path_, field.offset, e.what());
          }
          break;
        case 3:
          vocabulary_.normalizer.add_dummy_prefix = number_of(field) != 0;
          break;
        case 4:
          vocabulary_.normalizer.remove_extra_whitespaces = number_of(field) != 0;
          break;
        case 5:
          if (number_of(field) == 0) throw format_error(path_, field.offset, "unescaped blanks are not supported");
          break;
        default:
          break;
      }
    });
  }

  // -1 says that a model has no such token; an id outside the vocabulary is none either.
  void drop_unused_ids() {
    special_ids& special = vocabulary_.special;
    for (token_id* const id : {&special.bos, &special.eos, &special.unk, &special.pad}) {
      if (!valid_token(*id, vocabulary_.pieces.size())) *id = no_token;
    }
    vocabulary_.unigram = kind_ == 1;
  }

  std::string_view bytes_of(const proto_field& field) const {
    if (field.wire != 2) wrong_wire(field, "bytes");
    return field.bytes;
  }
  std::uint64_t number_of(const proto_field& field) const {
    if (field.wire != 0) wrong_wire(field, "a varint");
    return field.value;
  }
  float float_of(const proto_field& field) const {
    if (field.wire != 5) wrong_wire(field, "four bytes");
    const auto bits = static_cast<std::uint32_t>(field.value);
    float value;
    std::memcpy(&value, &bits, sizeof value);
    return value;
  }
  [[noreturn]] TINYGRAD_COLD void wrong_wire(const proto_field& field, const char* wanted) const {
    throw format_error(path_, field.offset, "field " + std::to_string(field.number) + " must be " + wanted);
  }

  std::string_view file_;
  std::string path_;
  sentencepiece_vocabulary vocabulary_;
  std::uint64_t kind_ = 1;
};

/// Makes the tokenizer; what does not fit together in it is a fault of that file.
inline SentencePieceTokenizer make_sentencepiece(sentencepiece_vocabulary vocabulary, const std::string& path) {
  try {
    return SentencePieceTokenizer(std::move(vocabulary));
  } catch (const value_error& e) {
    throw format_error(path, 0, e.what());
  }
}

}  // namespace spm_detail

/// The vocabulary in the bytes of a tokenizer.model; `path` is what errors name.
[[nodiscard]] inline sentencepiece_vocabulary parse_sentencepiece_model(std::string_view bytes,
                                                                        const std::string& path = "tokenizer.model") {
  return spm_detail::model_reader(bytes, path).read();
}

/// tokenizer.model.
[[nodiscard]] inline SentencePieceTokenizer read_sentencepiece_model(const std::string& path) {
  const mapped_file file(path);
  return spm_detail::make_sentencepiece(parse_sentencepiece_model(file.text(), path), path);
}

/// The vocabulary in the bytes of llama2.c's tokenizer.bin: i32 longest piece, then f32 score, i32 length and bytes of
/// each piece. It is Llama 2's layout: <unk>, <s>, </s>, the 256 bytes, then the pieces, with blanks written as such.
[[nodiscard]] inline sentencepiece_vocabulary parse_llama2c_tokenizer(std::string_view bytes,
                                                                      const std::string& path = "tokenizer.bin") {
  sentencepiece_vocabulary v;
  byte_reader in(as_byte_span(bytes), path);
  static_cast<void>(in.number<std::uint32_t>("the longest length"));
  while (in.remaining() > 0) {
    const std::size_t id = v.pieces.size();
    v.scores.push_back(in.number<float>("a score"));
    v.pieces.emplace_back(in.sized_text<std::uint32_t>("a piece"));
    v.types.push_back(id == 0    ? piece_type::unknown
                      : id < 3   ? piece_type::control
                      : id < 259 ? piece_type::byte
                                 : piece_type::normal);
  }
  if (v.pieces.size() < 259)
    in.fail("only " + std::to_string(v.pieces.size()) + " pieces; Llama 2's first 259 are given");
  v.pieces[1] = "<s>";  // written between line breaks
  v.pieces[2] = "</s>";
  v.special = {.bos = 1, .eos = 2, .unk = 0, .add_bos = true};
  return v;
}

[[nodiscard]] inline SentencePieceTokenizer read_llama2c_tokenizer(const std::string& path) {
  const mapped_file file(path);
  return spm_detail::make_sentencepiece(parse_llama2c_tokenizer(file.text(), path), path);
}

}  // namespace tinygrad::inline TINYGRAD_ABI
