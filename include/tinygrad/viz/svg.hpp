// SVG pictures as text: enough for charts, heat maps and decision boundaries, without a drawing library.
//
//   SvgCanvas picture(400, 300);
//   picture.rect(0, 0, 400, 300, "#ffffff");
//   picture.line({{10, 20}, {30, 15}, {50, 40}}, "#cc3311", 2);
//   picture.text(10, 290, "step");
//   write(picture.str());                          // a complete SVG 1.1 document
//
// Coordinates are pixels, y downwards. Text is escaped; colours are CSS colours.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdio>
#include <span>
#include <string>
#include <string_view>
#include <tinygrad/core/config.hpp>
#include <vector>

namespace tinygrad::inline TINYGRAD_ABI {

struct svg_point {
  double x, y;
};

class SvgCanvas {
 public:
  SvgCanvas(double width, double height) : width_(width), height_(height) {}

  void rect(double x, double y, double width, double height, std::string_view fill) {
    body_ += "<rect x=\"" + number(x) + "\" y=\"" + number(y) + "\" width=\"" + number(width) + "\" height=\"" +
             number(height) + "\" fill=\"" + escape(fill) + "\"/>\n";
  }
  void circle(double x, double y, double radius, std::string_view fill, std::string_view stroke = "none") {
    body_ += "<circle cx=\"" + number(x) + "\" cy=\"" + number(y) + "\" r=\"" + number(radius) + "\" fill=\"" +
             escape(fill) + "\" stroke=\"" + escape(stroke) + "\"/>\n";
  }
  /// A line through the points; points that are not finite are left out.
  void line(std::span<const svg_point> points, std::string_view stroke, double width = 1) {
    body_ +=
        "<polyline fill=\"none\" stroke=\"" + escape(stroke) + "\" stroke-width=\"" + number(width) + "\" points=\"";
    for (const svg_point& p : points)
      if (std::isfinite(p.x) && std::isfinite(p.y)) body_ += number(p.x) + "," + number(p.y) + " ";
    body_ += "\"/>\n";
  }
  /// `anchor`: start, middle or end.
  void text(double x, double y, std::string_view content, double size = 12, std::string_view anchor = "start",
            std::string_view fill = "#222222") {
    body_ += "<text x=\"" + number(x) + "\" y=\"" + number(y) + "\" font-family=\"sans-serif\" font-size=\"" +
             number(size) + "\" text-anchor=\"" + escape(anchor) + "\" fill=\"" + escape(fill) + "\">" +
             escape(content) + "</text>\n";
  }

  /// The whole document.
  [[nodiscard]] std::string str() const {
    const std::string size = number(width_) + "\" height=\"" + number(height_);
    return "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"" + size +
           "\" viewBox=\"0 0 " + number(width_) + " " + number(height_) + "\">\n" + body_ + "</svg>\n";
  }

 private:
  static std::string number(double value) {
    char digits[32];
    std::snprintf(digits, sizeof digits, "%.6g", std::isfinite(value) ? value : 0.0);
    return digits;
  }
  static std::string escape(std::string_view text) {
    std::string result;
    for (const char c : text) {
      switch (c) {
        case '&':
          result += "&amp;";
          break;
        case '<':
          result += "&lt;";
          break;
        case '>':
          result += "&gt;";
          break;
        case '"':
          result += "&quot;";
          break;
        default:
          result += c;
      }
    }
    return result;
  }

  double width_, height_;
  std::string body_;
};

/// A colour between two: `share` 0 gives `from`, 1 gives `to`; each is {red, green, blue} in 0..255.
struct rgb {
  int red, green, blue;
};
[[nodiscard]] inline std::string blend(rgb from, rgb to, double share) {
  const double t = share < 0 || std::isnan(share) ? 0 : share > 1 ? 1 : share;
  const auto mix = [t](int a, int b) { return static_cast<int>(std::lround(a + t * (b - a))); };
  char text[8];
  std::snprintf(text, sizeof text, "#%02x%02x%02x", static_cast<unsigned>(mix(from.red, to.red)) & 255U,
                static_cast<unsigned>(mix(from.green, to.green)) & 255U,
                static_cast<unsigned>(mix(from.blue, to.blue)) & 255U);
  return text;
}

/// One line of a chart.
struct svg_series {
  std::string name;
  std::vector<svg_point> points;
};

/// A line chart with axes, ticks and a legend; ranges are those of the data.
[[nodiscard]] inline std::string line_chart(std::string_view title, std::string_view x_label, std::string_view y_label,
                                            std::span<const svg_series> series) {
  double x_low = 0, x_high = 1, y_low = 0, y_high = 1;
  bool first = true;
  for (const svg_series& line : series)
    for (const svg_point& p : line.points) {
      if (!std::isfinite(p.x) || !std::isfinite(p.y)) continue;
      x_low = first || p.x < x_low ? p.x : x_low;
      x_high = first || p.x > x_high ? p.x : x_high;
      y_low = first || p.y < y_low ? p.y : y_low;
      y_high = first || p.y > y_high ? p.y : y_high;
      first = false;
    }
  const double width = 720, height = 420, left = 70, right = 20, top = 40, bottom = 50;
  const double x_span = x_high > x_low ? x_high - x_low : 1, y_span = y_high > y_low ? y_high - y_low : 1;
  const auto at = [&](double x, double y) {
    return svg_point{left + (x - x_low) / x_span * (width - left - right),
                     height - bottom - (y - y_low) / y_span * (height - top - bottom)};
  };
  SvgCanvas canvas(width, height);
  canvas.rect(0, 0, width, height, "#ffffff");
  canvas.text(width / 2, 24, title, 16, "middle");
  canvas.text(width / 2, height - 10, x_label, 12, "middle");
  canvas.text(10, top - 10, y_label);
  for (int tick = 0; tick <= 4; ++tick) {
    const double x = x_low + x_span * tick / 4, y = y_low + y_span * tick / 4;
    char label[32];
    std::snprintf(label, sizeof label, "%.4g", y);
    canvas.line(std::vector<svg_point>{at(x_low, y), at(x_low + x_span, y)}, "#dddddd");
    canvas.text(left - 6, at(x_low, y).y + 4, label, 11, "end");
    std::snprintf(label, sizeof label, "%.4g", x);
    canvas.text(at(x, y_low).x, height - bottom + 18, label, 11, "middle");
  }
  static constexpr std::string_view colours[] = {"#0077bb", "#cc3311", "#009988", "#ee7733", "#aa3377", "#555555"};
  for (std::size_t i = 0; i < series.size(); ++i) {
    std::vector<svg_point> points;
    for (const svg_point& p : series[i].points) points.push_back(at(p.x, p.y));
    const std::string_view colour = colours[i % std::size(colours)];
    canvas.line(points, colour, 1.5);
    const double y = top + 16 * static_cast<double>(i);
    canvas.line(std::vector<svg_point>{{width - right - 150, y}, {width - right - 130, y}}, colour, 3);
    canvas.text(width - right - 124, y + 4, series[i].name);
  }
  return canvas.str();
}

}  // namespace tinygrad::inline TINYGRAD_ABI
