// Conversations as the text that a chat model was trained on: ChatML, Llama 2, Llama 3, or plain lines.
//
// A model's file carries its template as a Jinja program, which is not run here: it is recognised by the markers that
// it writes, and the same text is made. What is not recognised is refused rather than guessed, because a model talks
// nonsense in another's markup. Source: the templates in the tokenizer_config.json of SmolLM2, Qwen2, Llama 2 and 3.
//
// The text holds control tokens, BOS where the format has it too: encode it with parse_special and without add_special.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tinygrad/core/error.hpp>
#include <tinygrad/text/unicode.hpp>
#include <tinygrad/text/utf8.hpp>
#include <utility>

namespace tinygrad::inline TINYGRAD_ABI {

struct chat_message {
  std::string role;  // "system" (first only), "user", "assistant"
  std::string content;
};

enum class chat_format : std::uint8_t { plain, chatml, llama2, llama3 };

inline constexpr std::array<std::pair<std::string_view, chat_format>, 4> chat_formats{
    {{"plain", chat_format::plain},
     {"chatml", chat_format::chatml},
     {"llama2", chat_format::llama2},
     {"llama3", chat_format::llama3}}};

/// How a model wants to be talked to.
struct chat_template {
  chat_format format = chat_format::plain;
  std::string default_system;  // what a template says where a conversation has no system message; empty: nothing
};

namespace chat_detail {

/// Without white space at both ends, as Python's strip() leaves it.
[[nodiscard]] inline std::string_view stripped(std::string_view text) {
  const auto blank = [](char32_t code) { return is_white_space(code) || (code >= 0x1C && code <= 0x1F); };
  const auto first = [](std::string_view part) { return decode_utf8(part.data(), part.data() + part.size()); };
  while (!text.empty() && blank(first(text).code)) text.remove_prefix(first(text).length);
  for (std::size_t end = text.size(); end > 0;) {
    --end;
    if ((static_cast<unsigned char>(text[end]) & 0xC0) == 0x80 && text.size() - end < 4) continue;
    if (!blank(first(text.substr(end)).code)) break;
    text = text.substr(0, end);
  }
  return text;
}

/// The literal between "<|im_start|>system\n" and "<|im_end|>" in a Jinja program, where it is one.
[[nodiscard]] inline std::string default_system(std::string_view program) {
  for (const std::string_view start : {"<|im_start|>system\\n", "<|im_start|>system\n"}) {
    const std::size_t found = program.find(start);
    if (found == std::string_view::npos) continue;
    const std::string_view rest = program.substr(found + start.size());
    const std::string_view text = rest.substr(0, rest.find("<|im_end|>"));
    if (text.size() < rest.size() && text.find_first_of("'\"{}\\") == std::string_view::npos) return std::string(text);
  }
  return {};
}

inline std::string llama2_text(std::span<const chat_message> messages, std::string_view bos, std::string_view eos) {
  std::string text, system;
  if (!messages.empty() && messages.front().role == "system") {
    system = "<<SYS>>\n" + messages.front().content + "\n<</SYS>>\n\n";
    messages = messages.subspan(1);
  }
  for (std::size_t i = 0; i < messages.size(); ++i) {
    const chat_message& message = messages[i];
    if (message.role != (i % 2 == 0 ? "user" : "assistant"))
      throw value_error("[chat] message " + std::to_string(i) + " is from \"" + message.role +
                        "\"; in Llama 2's format user and assistant take turns");
    const std::string content = (i == 0 ? system : std::string()) + message.content;
    if (i % 2 == 0)
      text.append(bos).append("[INST] ").append(stripped(content)).append(" [/INST]");
    else
      text.append(" ").append(stripped(content)).append(" ").append(eos);
  }
  return text;
}

}  // namespace chat_detail

/// The format of a model's Jinja template (GGUF's key tokenizer.chat_template, tokenizer_config.json's chat_template);
/// nothing when it is none of those known.
[[nodiscard]] inline std::optional<chat_template> recognise_chat_template(std::string_view program) {
  const auto has = [&](std::string_view marker) { return program.find(marker) != std::string_view::npos; };
  if (has("<|im_start|>") && has("<|im_end|>"))
    return chat_template{chat_format::chatml, chat_detail::default_system(program)};
  if (has("<|start_header_id|>") && has("<|eot_id|>")) return chat_template{chat_format::llama3, {}};
  if (has("[INST]") && has("<<SYS>>")) return chat_template{chat_format::llama2, {}};
  return std::nullopt;
}

/// The conversation as a text that ends where the model's answer begins. `bos` and `eos` are the texts of the model's
/// tokens. Throws value_error for Llama 2 where user and assistant do not take turns.
[[nodiscard]] inline std::string render_chat(chat_format format, std::span<const chat_message> messages,
                                             std::string_view bos, std::string_view eos) {
  if (format == chat_format::llama2) return chat_detail::llama2_text(messages, bos, eos);
  std::string text(format == chat_format::llama3 ? bos : "");
  for (const chat_message& message : messages) {
    if (format == chat_format::chatml)
      text.append("<|im_start|>").append(message.role).append("\n").append(message.content).append("<|im_end|>\n");
    else if (format == chat_format::llama3)
      text.append("<|start_header_id|>")
          .append(message.role)
          .append("<|end_header_id|>\n\n")
          .append(chat_detail::stripped(message.content))
          .append("<|eot_id|>");
    else
      text.append(message.content).append("\n");
  }
  if (format == chat_format::chatml) text.append("<|im_start|>assistant\n");
  if (format == chat_format::llama3) text.append("<|start_header_id|>assistant<|end_header_id|>\n\n");
  return text;
}

/// The control token with which the model ends its turn; empty where that is EOS.
[[nodiscard]] constexpr std::string_view end_of_turn(chat_format format) noexcept {
  if (format == chat_format::chatml) return "<|im_end|>";
  return format == chat_format::llama3 ? "<|eot_id|>" : "";
}

}  // namespace tinygrad::inline TINYGRAD_ABI
