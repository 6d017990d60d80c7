#include "eval/scores.hpp"

#include <fmt/format.h>

#include <cmath>

#include "parsnets/error.hpp"

namespace parsnets {

std::vector<std::int32_t> places_of(std::span<const std::int32_t> candidates, std::size_t classes,
                                    const std::string& what) {
  if (candidates.empty())
    throw Error(BadInput{what, "", "at least one class", "none", "name the classes that may be predicted"});
  std::vector<std::int32_t> places(classes, -1);
  for (std::size_t k = 0; k < candidates.size(); ++k) {
    const std::int32_t c = candidates[k];
    if (c < 0 || static_cast<std::size_t>(c) >= classes)
      throw Error(BadInput{what, fmt::format("entry {}", k), fmt::format("a class index below {}", classes),
                           fmt::format("{}", c), "the scores need one column per class"});
    std::int32_t& place = places[static_cast<std::size_t>(c)];
    if (place >= 0)
      throw Error(BadInput{what, fmt::format("entry {}", k), "each class only once", fmt::format("class {} twice", c),
                           "remove the duplicate"});
    place = static_cast<std::int32_t>(k);
  }
  return places;
}

void check_label_count(std::size_t rows, std::span<const std::int32_t> labels, const std::string& what) {
  if (labels.size() != rows)
    throw Error(BadInput{what, "labels", fmt::format("one per row of scores, {}", rows),
                         fmt::format("{}", labels.size()), "pass the labels of the same samples"});
}

void check_finite_scores(MatrixView<const float> scores, std::span<const std::int32_t> candidates,
                         const std::string& what, std::size_t first) {
  for (std::size_t i = 0; i < scores.rows(); ++i) {
    const auto row = scores.row(i);
    for (const std::int32_t c : candidates)
      if (!std::isfinite(row[static_cast<std::size_t>(c)]))
        throw Error(BadInput{what, fmt::format("row {}, class {}", first + i, c), "a finite score",
                             fmt::format("{}", row[static_cast<std::size_t>(c)]),
                             "check for missing or overflowing features or class attributes"});
  }
}

std::vector<std::size_t> places_of_labels(std::span<const std::int32_t> labels, std::span<const std::int32_t> places,
                                          const std::string& what) {
  if (labels.empty())
    throw Error(BadInput{what, "", "at least one sample", "none", "accuracy is undefined without samples"});
  std::vector<std::size_t> found(labels.size());
  for (std::size_t i = 0; i < labels.size(); ++i) {
    const std::int32_t label = labels[i];
    const bool known = label >= 0 && static_cast<std::size_t>(label) < places.size();
    const std::int32_t place = known ? places[static_cast<std::size_t>(label)] : -1;
    if (place < 0)
      throw Error(BadInput{what, fmt::format("label {}", i), "one of the candidate classes",
                           fmt::format("class {}", label), "pass only samples of these classes, or add the class"});
    found[i] = static_cast<std::size_t>(place);
  }
  return found;
}

}  // namespace parsnets
