// Part 1 of the series: the engine that learns. One function per section of the article.
#pragma once

#include <string>
#include <string_view>

namespace part1 {

struct options {
  std::string policy = "threaded";  // of section 5 and 6
  std::string svg = "circle.svg";   // where section 6 draws; empty: nowhere
};

void derivative();            // 1
void tiny_graph();            // 2
bool gradient_check();        // 3: the article's 18 operations, then every operation of the library
bool every_operation();       //    (the second half)
bool break_it_on_purpose();   // 3b
void matrix_products();       // 4
void circle(const options&);  // 5 and 6

bool exercise_exp();
bool exercise_tanh_bug();
void exercise_sgd_rate();

/// 2.69E-005: the article's way to print small numbers, with three digits of exponent.
std::string scientific(double value);
/// One line of a gradient check; returns whether it passed.
bool report(std::string_view name, double max_absolute, double max_relative);

}  // namespace part1
