// Conversations in the formats of chat models, against transformers' apply_chat_template (chat_template_golden.py), and
// which format a model's template is recognised as.
#include <doctest/doctest.h>

#include <string>
#include <tinygrad/io/gguf.hpp>
#include <tinygrad/io/json.hpp>
#include <tinygrad/text/chat_template.hpp>
#include <vector>

#include "support/shared_data.hpp"

using namespace tinygrad;

namespace {

std::vector<chat_message> messages_of(const json_ref& list) {
  std::vector<chat_message> messages;
  for (std::size_t i = 0; i < list.array().size(); ++i)
    messages.push_back({list[i]["role"].string(), list[i]["content"].string()});
  return messages;
}

chat_format format_called(const std::string& name) {
  for (const auto& [text, format] : chat_formats)
    if (text == name) return format;
  throw value_error("no format is called " + name);
}

}  // namespace

TEST_CASE("conversations are the texts that transformers makes of them") {
  const json_document golden = read_json_file(TINYGRAD_SOURCE_DIR "/tests/text/chat_template_golden.json");
  const json_ref entries = golden.root();
  std::size_t seen = 0;
  for (std::size_t i = 0; i < entries.array().size(); ++i) {
    const json_ref entry = entries[i];
    const std::string name = entry["format"].string();
    CAPTURE(name);
    const chat_format format = format_called(name);
    const auto recognised = recognise_chat_template(entry["program"].string());
    REQUIRE(recognised.has_value() == (format != chat_format::plain));
    const std::string system = recognised ? recognised->default_system : "";
    if (recognised) CHECK(recognised->format == format);
    CHECK(system == entry["default_system"].string());
    for (std::size_t k = 0; k < entry["cases"].array().size(); ++k, ++seen) {
      std::vector<chat_message> messages = messages_of(entry["cases"][k]["messages"]);
      if (!system.empty() && messages.front().role != "system") messages.insert(messages.begin(), {"system", system});
      CHECK(render_chat(format, messages, entry["bos"].string(), entry["eos"].string()) ==
            entry["cases"][k]["text"].string());
    }
  }
  CHECK(seen == 35);
}

TEST_CASE("templates are recognised by their markers, and what is unknown is none of them") {
  const auto format = [](std::string_view program) { return recognise_chat_template(program)->format; };
  CHECK(format("{{- '<|im_start|>' + message.role }} ... <|im_end|>") == chat_format::chatml);
  CHECK(format("{{ '<|start_header_id|>' + role + '<|end_header_id|>' }} '<|eot_id|>'") == chat_format::llama3);
  CHECK(format("[INST] <<SYS>> [/INST]") == chat_format::llama2);
  CHECK_FALSE(recognise_chat_template("").has_value());
  CHECK_FALSE(recognise_chat_template("{{ bos_token }} [INST] {{ content }} [/INST]").has_value());  // Mistral's
  CHECK_FALSE(recognise_chat_template("<start_of_turn>user\n<end_of_turn>").has_value());            // Gemma's
}

TEST_CASE("a default system message is taken only where it is a literal") {
  const auto system = [](const std::string& text) {
    return recognise_chat_template("<|im_start|>system\\n" + text + "<|im_end|>")->default_system;
  };
  CHECK(system("You are Qwen, created by Alibaba Cloud.") == "You are Qwen, created by Alibaba Cloud.");
  CHECK(system("' + messages[0]['content'] + '").empty());
  CHECK(system("{{ text }}").empty());
  CHECK(recognise_chat_template("<|im_end|><|im_start|>system\nA\nB<|im_end|>")->default_system == "A\nB");
  CHECK(recognise_chat_template("<|im_end|><|im_start|>system\nno end")->default_system.empty());
}

TEST_CASE("Llama 2's format refuses speakers who do not take turns") {
  const std::vector<chat_message> twice{{"user", "a"}, {"user", "b"}}, late{{"user", "a"}, {"system", "b"}};
  CHECK_THROWS_WITH_AS(static_cast<void>(render_chat(chat_format::llama2, twice, "<s>", "</s>")),
                       "[chat] message 1 is from \"user\"; in Llama 2's format user and assistant take turns",
                       value_error);
  CHECK_THROWS_AS(static_cast<void>(render_chat(chat_format::llama2, late, "<s>", "</s>")), value_error);
}

TEST_CASE("the template in a real file of another format is not recognised") {
  const auto path = tinygrad_test::shared_data("tokenizer/ggml-vocab/ggml-vocab-phi-3.gguf");
  if (!path) return;
  const gguf_file file(path->string());
  CHECK_FALSE(recognise_chat_template(file["tokenizer.chat_template"].text()).has_value());
}
