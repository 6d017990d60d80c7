#include "data/semantics.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <span>

#include "parsnets/error.hpp"

namespace parsnets {

std::size_t mark_missing(MatrixView<double> raw) {
  double lowest_other = std::numeric_limits<double>::infinity(), highest = -lowest_other;
  for (const double v : raw.values()) {
    if (std::isnan(v)) continue;
    if (v != -1) lowest_other = std::min(lowest_other, v);
    highest = std::max(highest, v);
  }
  const bool minus_one_is_missing = lowest_other >= 0 && highest > 1;
  std::size_t missing = 0;
  for (double& v : raw.values()) {
    if (minus_one_is_missing && v == -1) v = std::numeric_limits<double>::quiet_NaN();
    missing += std::isnan(v) ? 1 : 0;
  }
  return missing;
}

Semantics complete_semantics(MatrixView<const double> raw, MissingPolicy policy, const std::string& file,
                             const std::string& field, const std::vector<std::string>& class_names,
                             const std::vector<std::string>& attribute_names) {
  const auto attribute = [&](std::size_t a) {
    return a < attribute_names.size() ? "'" + attribute_names[a] + "'" : std::to_string(a + 1);
  };
  Semantics semantics;
  semantics.policy = policy;
  semantics.attribute_names = attribute_names;
  semantics.values = Matrix<float>(raw.rows(), raw.cols());
  for (std::size_t a = 0; a < raw.cols(); ++a) {
    double sum = 0;
    std::size_t present = 0;
    for (std::size_t c = 0; c < raw.rows(); ++c) {
      const double v = raw(c, a);
      if (std::isnan(v)) {
        if (policy == MissingPolicy::refuse)
          throw Error(BadInput{file, fmt::format("{}, class '{}', attribute {}", field, class_names[c], attribute(a)),
                               "a value (missing values are not allowed)", "none",
                               "fill it in or use " + option_name("missing", "attribute-mean")});
        continue;
      }
      if (std::isinf(v) || std::abs(v) > std::numeric_limits<float>::max())
        throw Error(BadInput{file, fmt::format("{}, class '{}', attribute {}", field, class_names[c], attribute(a)),
                             "a finite number", fmt::format("{}", v), "correct the value"});
      sum += v;
      ++present;
    }
    if (present == 0)
      throw Error(BadInput{file, fmt::format("{}, attribute {}", field, attribute(a)), "a value for at least one class",
                           "none", "remove the attribute"});
    semantics.missing += raw.rows() - present;
    const double fill = policy == MissingPolicy::zero ? 0.0 : sum / static_cast<double>(present);
    for (std::size_t c = 0; c < raw.rows(); ++c)
      semantics.values(c, a) = static_cast<float>(std::isnan(raw(c, a)) ? fill : raw(c, a));
  }
  return semantics;
}

std::vector<std::string> semantic_warnings(const Dataset& data) {
  std::vector<std::string> warnings;
  const auto values = data.semantics.values.view();
  if (values.cols() == 1)
    warnings.push_back(
        "the classes have only one attribute: it hardly tells them apart (similarity cosine sees its "
        "sign alone), so accuracies are close to chance");
  using Row = std::span<const float>;
  const auto before = [](Row a, Row b) { return std::ranges::lexicographical_compare(a, b); };
  std::map<Row, std::vector<std::size_t>, decltype(before)> alike(before);
  for (std::size_t c = 0; c < values.rows(); ++c) alike[values.row(c)].push_back(c);
  if (values.rows() > 1 && alike.size() == 1) {
    warnings.push_back(
        "all classes have the same attributes: none can be told from another, so accuracies are those "
        "of always giving the same answer");
    return warnings;
  }
  std::size_t doubled = 0;
  const std::vector<std::size_t>* first = nullptr;
  for (const auto& [row, classes] : alike)
    if (classes.size() > 1) {
      doubled += classes.size();
      if (first == nullptr || classes.front() < first->front()) first = &classes;
    }
  if (first != nullptr)
    warnings.push_back(
        fmt::format("{} classes share their attributes with another, such as '{}' and '{}': they cannot "
                    "be told apart, so only one of them is ever predicted",
                    doubled, data.class_names[(*first)[0]], data.class_names[(*first)[1]]));
  return warnings;
}

}  // namespace parsnets
