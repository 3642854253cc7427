// JSON: what is accepted, what is kept of it, lookups, and writing.
#include <doctest/doctest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <tinygrad/io/json.hpp>
#include <vector>

#include "support/expect_error.hpp"
#include "support/shared_data.hpp"
#include "support/temp_folder.hpp"

using namespace tinygrad;
using tinygrad_test::expect_format_error;

TEST_CASE("each kind of value is read") {
  CHECK(parse_json("null").is_null());
  CHECK(parse_json("true").as_boolean() == true);
  CHECK(parse_json(" false\n").as_boolean() == false);
  CHECK(*parse_json(R"("text")").as_string() == "text");
  CHECK(parse_json("[]").as_array()->empty());
  CHECK(parse_json("{}").as_object()->empty());
  CHECK(parse_json("[1, [2], {\"a\": 3}]").as_array()->size() == 3);
}

TEST_CASE("members keep the order of the file") {
  const json_value value = parse_json(R"({"z":1,"a":2,"m":3})");
  std::string order;
  for (const json_member& member : *value.as_object()) order += member.key;
  CHECK(order == "zam");
}

TEST_CASE("whole numbers keep all 64 bits, others become the nearest double") {
  CHECK(parse_json("18446744073709551615").as_uint64() == UINT64_MAX);
  CHECK(parse_json("-9223372036854775808").as_int64() == INT64_MIN);
  CHECK(parse_json("9223372036854775807").as_int64() == INT64_MAX);
  CHECK_FALSE(parse_json("9223372036854775808").as_int64());
  CHECK_FALSE(parse_json("-1").as_uint64());
  CHECK_FALSE(parse_json("1.0").as_uint64());
  CHECK_FALSE(parse_json("1e2").as_int64());
  CHECK(parse_json("18446744073709551616").as_double() == 18446744073709551616.0);
  CHECK(parse_json("-9223372036854775809").as_double() == -9223372036854775808.0);
  // Hugging Face writes this for "no limit" into tokenizer_config.json.
  CHECK(parse_json("1000000000000000019884624838656").as_double() == 1e30);
  CHECK(parse_json("7").as_double() == 7.0);
  CHECK(parse_json("-7").as_double() == -7.0);
}

TEST_CASE("minus zero is a double, the only number type that has it") {
  CHECK(std::signbit(*parse_json("-0").as_double()));
  CHECK_FALSE(parse_json("-0").as_int64());
  CHECK(parse_json("0").as_uint64() == 0);
}

TEST_CASE("decimals round correctly: hard cases") {
  CHECK(parse_json("0.1").as_double() == 0.1);
  CHECK(parse_json("123456789012345678e-5").as_double() == 1234567890123.45678);
  CHECK(parse_json("2.2250738585072011e-308").as_double() == 2.2250738585072011e-308);  // once an endless loop in PHP
  CHECK(parse_json("9007199254740993.0").as_double() == 9007199254740992.0);            // 2^53 + 1: tie to even
  CHECK(parse_json("1.7976931348623157e308").as_double() == (std::numeric_limits<double>::max)());
  CHECK(parse_json("4.9e-324").as_double() == std::numeric_limits<double>::denorm_min());
  CHECK(parse_json("1e-400").as_double() == 0.0);
  CHECK(parse_json("0e999999999999999999999").as_double() == 0.0);
  CHECK(parse_json("0.000000000000000000000000000000001E+33").as_double() == 1.0);
  CHECK(parse_json("1" + std::string(400, '0') + "e-400").as_double() == 1.0);
  CHECK(parse_json("0." + std::string(400, '0') + "1e401").as_double() == 1.0);
}

TEST_CASE("escapes and surrogate pairs become UTF-8") {
  CHECK(*parse_json(R"("\"\\\/\b\f\n\r\t")").as_string() == "\"\\/\b\f\n\r\t");
  CHECK(*parse_json(R"("\u0041\u00e9\u20AC\ud83d\ude00\u0120the")").as_string() == "A\u00e9\u20ac\U0001f600\u0120the");
  CHECK(*parse_json(R"("a\u0000b")").as_string() == std::string("a\0b", 3));
  CHECK(*parse_json("\"\u0645\u0631\u062d\u0628\u0627 \U0001f600\"").as_string() ==
        "\u0645\u0631\u062d\u0628\u0627 \U0001f600");
  CHECK(*parse_json(R"({"k\u0065y":1})").find("key") == json_value(1));
}

TEST_CASE("strings of every length end at the right quote") {
  for (std::size_t length = 0; length < 40; ++length) {
    const std::string text(length, 'x');
    CHECK(*parse_json("[\"" + text + "\",1]").as_array()->front().as_string() == text);
    CHECK(*parse_json("[\"" + text + "\\n\",1]").as_array()->front().as_string() == text + "\n");
    CHECK(*parse_json("[\"" + text + "\u00e9\",1]").as_array()->front().as_string() == text + "\u00e9");
  }
}

TEST_CASE("what a repeated key means is chosen by the caller") {
  const std::string text = R"({"a":1,"b":2,"a":3,"b":4,"c":5})";
  expect_format_error([&] { static_cast<void>(parse_json(text, "f.json")); }, {"f.json", "duplicate key \"a\""});
  CHECK(write_json(parse_json(text, "f", duplicate_keys::keep_first)) == R"({"a":1,"b":2,"c":5})");
  CHECK(write_json(parse_json(text, "f", duplicate_keys::keep_last)) == R"({"a":3,"b":4,"c":5})");
}

TEST_CASE("repeats are found among many keys, and in nested objects only within one object") {
  std::string text = "{";
  for (int i = 0; i < 5000; ++i) text += "\"key" + std::to_string(i) + "\":" + std::to_string(i) + ",";
  CHECK(parse_json(text + "\"last\":0}").as_object()->size() == 5001);
  expect_format_error([&] { static_cast<void>(parse_json(text + "\"key77\":0}")); }, {"duplicate key \"key77\""});
  CHECK(parse_json(R"({"a":{"a":{"a":1}}})").find("a")->find("a")->find("a")->as_uint64() == 1);
}

TEST_CASE("keys made to collide are still handled, by sorting") {
  // 300 keys that all start at one slot of the table that an object of 300 members gets.
  std::string text = "{";
  std::vector<std::string> keys;
  for (int i = 0; keys.size() < 300; ++i) {
    const std::string key = "key" + std::to_string(i);
    if (detail::key_hash(key) % 1024 != 7) continue;
    keys.push_back(key);
    text += "\"" + key + "\":" + std::to_string(keys.size()) + ",";
  }
  CHECK(parse_json(text.substr(0, text.size() - 1) + "}").as_object()->size() == 300);
  const std::string repeated = text + "\"" + keys[250] + "\":0,\"" + keys[10] + "\":0}";
  expect_format_error([&] { static_cast<void>(parse_json(repeated)); }, {"duplicate key \"" + keys[250] + "\""});
  const json_value last = parse_json(repeated, "f", duplicate_keys::keep_last);
  CHECK(last.as_object()->size() == 300);
  CHECK(last.find(keys[10])->as_uint64() == 0);
  CHECK(last.find(keys[11])->as_uint64() == 12);
}

TEST_CASE("sorting finds the same repeats as hashing") {
  json_object members;
  for (int i = 0; i < 300; ++i) members.push_back({std::to_string(i % 100), i});
  const auto hashed = detail::find_repeats(members);
  const auto sorted = detail::repeats_by_sorting(members);
  REQUIRE(hashed.size() == 200);
  REQUIRE(sorted.size() == 200);
  for (std::size_t i = 0; i < hashed.size(); ++i) {
    CHECK(hashed[i].first == sorted[i].first);
    CHECK(hashed[i].again == sorted[i].again);
  }
}

TEST_CASE("a lookup that fails names file, byte and member") {
  const json_document config{parse_json(R"({"n_layer": 12, "act": "gelu", "dims": [1, 2]})", "config.json"),
                             "config.json"};
  const json_ref root = config.root();
  CHECK(root["n_layer"].uint64() == 12);
  CHECK(root["n_layer"].number() == 12.0);
  CHECK(root["act"].string() == "gelu");
  CHECK(root["dims"][1].int64() == 2);
  CHECK_FALSE(root.find("n_head"));
  CHECK(expect_format_error([&] { static_cast<void>(root["n_head"]); }, {"config.json", "\"n_head\" is missing"}) == 0);
  CHECK(expect_format_error([&] { static_cast<void>(root["act"].uint64()); },
                            {"config.json", "a whole number", "not a string"}) == 23);
  CHECK(expect_format_error([&] { static_cast<void>(root["dims"][2]); }, {"element 2 of an array of 2"}) == 39);
  expect_format_error([&] { static_cast<void>(root["act"]["x"]); }, {"an object is needed here, not a string"});
}

TEST_CASE("the tree of a parsed text knows where its values stood") {
  const json_value value = parse_json("{ \"a\" : [ 10, true ] }");
  CHECK(value.position() == 0);
  CHECK(value.find("a")->position() == 8);
  CHECK((*value.find("a")->as_array())[1].position() == 14);
}

TEST_CASE("values are built by hand and written") {
  const json_value value = json_object{{"name", "a \"quoted\"\n\x01 \u00e9"},
                                       {"list", json_array{1, -2, 0.5, 3.0, true, nullptr, json_object{}}},
                                       {"empty", json_array{}}};
  CHECK(write_json(value) ==
        "{\"name\":\"a \\\"quoted\\\"\\n\\u0001 \u00e9\",\"list\":[1,-2,0.5,3.0,true,null,{}],\"empty\":[]}");
  CHECK(write_json(json_value(json_object{{"a", json_array{1, 2}}}), 2) == "{\n  \"a\": [\n    1,\n    2\n  ]\n}");
}

TEST_CASE("what is written reads back equal") {
  const double awkward[] = {0.1, -0.0, 1e300, 5e-324, 1.0, 123456789.0, 1e21, 3.4028234663852886e38, 2.0 / 3.0};
  for (const double number : awkward) {
    const json_value back = parse_json(write_json(json_value(number)));
    CHECK(back == json_value(number));
    CHECK(std::signbit(*back.as_double()) == std::signbit(number));
  }
  const json_value whole[] = {INT64_MIN, INT64_MAX, UINT64_MAX, 0, -1};
  for (const json_value& number : whole) CHECK(parse_json(write_json(number)) == number);
  std::string all;
  for (char32_t code = 0; code < 0x900; ++code) append_code_point(all, code);
  append_code_point(all, 0x10ffff);
  CHECK(*parse_json(write_json(json_value(all))).as_string() == all);
}

TEST_CASE("what JSON cannot say is not written") {
  CHECK_THROWS_AS(static_cast<void>(write_json(json_value(std::nan("")))), value_error);
  CHECK_THROWS_AS(static_cast<void>(write_json(json_value(-INFINITY))), value_error);
  CHECK_THROWS_AS(static_cast<void>(write_json(json_value("\xff"))), value_error);
  json_value deep;
  for (int i = 0; i < 1000; ++i) {
    json_array outer;
    outer.push_back(std::move(deep));
    deep = json_value(std::move(outer));
  }
  CHECK_THROWS_AS(static_cast<void>(write_json(deep)), value_error);
}

TEST_CASE("the reader alone: pieces in order, the rest skipped") {
  json_reader in(R"({"skip": {"a": [1, {"b": []}, "x"], "c": {}}, "n": 3, "s": ["p\n", "q"], "t": null})");
  std::string_view key;
  in.begin_object();
  REQUIRE(in.next_key(key));
  CHECK(key == "skip");
  in.skip();
  REQUIRE(in.next_key(key));
  CHECK(key == "n");
  CHECK(in.read_uint64() == 3);
  CHECK(in.value_offset() == 51);
  REQUIRE(in.next_key(key));
  in.begin_array();
  REQUIRE(in.next_element());
  CHECK(in.read_string() == "p\n");
  REQUIRE(in.next_element());
  CHECK(in.read_string() == "q");
  CHECK_FALSE(in.next_element());
  REQUIRE(in.next_key(key));
  in.read_null();
  CHECK_FALSE(in.next_key(key));
  in.finish();
}

TEST_CASE("a file is read; a missing one is an io_error") {
  const tinygrad_test::temp_folder folder;
  const std::string path = folder.put("a.json", "{\n  \"a\": tru\n}");
  CHECK(expect_format_error([&] { static_cast<void>(read_json_file(path)); }, {path, "line 2, column 8"}) == 9);
  CHECK_THROWS_AS(static_cast<void>(read_json_file(folder / "missing.json")), io_error);
}

TEST_CASE("real files parse, and write back to an equal tree") {
  for (const char* name : {"tokenizer/kitoken/gpt2.tokenizer.json", "tokenizer/gpt2/encoder.json",
                           "models/tiny-random-gpt2/config.json", "models/tiny-random-gpt2/tokenizer.json"}) {
    const auto path = tinygrad_test::shared_data(name);
    if (!path) return;
    const json_document document = read_json_file(path->string());
    CHECK(parse_json(write_json(document.value, 1)) == document.value);
  }
}
