// Any bytes: the tree and the skipping reader agree on what is JSON; what parses is written and parses to the same.
#include <cstdint>
#include <string>
#include <string_view>
#include <tinygrad/io/json.hpp>

#include "driver.hpp"

using namespace tinygrad;

std::vector<std::string> fuzz_seeds() {
  return {R"({"version":"1.0","added_tokens":[{"id":0,"content":"<|end|>","special":true}],)"
          R"("model":{"type":"BPE","vocab":{"a":0,"\u0120b":1,"\ud83d\ude00":2},"merges":["a b",["c","d"]]}})",
          "[null,true,false,0,-0,-1,18446744073709551615,-9223372036854775808,1.5e-3,2E+10,1e400,0.1]",
          "{\"\":\"\",\"a\":[],\"b\":{},\"\xd8\xb3\":\"\\\"\\\\\\/\\b\\f\\n\\r\\t\"}",
          " \t\r\n[ [ [ { \"k\" : [ 1 , 2 ] } ] ] ] ",
          R"({"a":1,"a":2,"b":{"a":3}})",
          "\"plain text longer than eight bytes, then \\u0041\""};
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  bool skips = true;
  try {
    json_reader in(text);
    in.skip();
    in.finish();
  } catch (const format_error& error) {
    must(error.offset() <= size, "an error inside the text");
    skips = false;
  }
  bool parses = true;
  try {
    const json_value value = parse_json(text, "fuzz", duplicate_keys::keep_last);
    must(parse_json(write_json(value)) == value, "written and parsed again, a value is the same");
    must(parse_json(write_json(value, 3)) == value, "indented too");
  } catch (const format_error& error) {
    must(error.offset() <= size, "an error inside the text");
    parses = false;
  }
  must(skips == parses, "tree and skipping reader agree");
  return 0;
}
