// Export with its cost measured on validation classes, the choice of precision and rank under a bound on the bytes, and
// the device file as a C header.

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <tuple>

#include "base/machine.hpp"
#include "base/row_blocks.hpp"
#include "base/scratch_file.hpp"
#include "data/feature_source.hpp"
#include "device/device_recogniser.hpp"
#include "device/fewer_axes.hpp"
#include "parsnets/device.hpp"
#include "parsnets/error.hpp"
#include "train/fitter.hpp"
#include "train/provenance.hpp"
#include "train/validation.hpp"

namespace parsnets {

const std::vector<std::pair<std::string, Precision>>& precision_names() {
  static const std::vector<std::pair<std::string, Precision>> names{
      {"float32", Precision::float32}, {"float16", Precision::float16}, {"int8", Precision::int8}};
  return names;
}

namespace {

std::string name_of(Precision precision) {
  for (const auto& [name, value] : precision_names())
    if (value == precision) return name;
  return "";
}

std::vector<std::byte> exported(const Model& model, const ExportCandidate& way, ThreadPool& pool) {
  return device_file(with_fewer_axes(model, way, pool), way.precision, way.rank, pool);
}

/// The model's options fitted without the validation classes, and what is needed to score an exported form of it.
class ValidationModel {
 public:
  ValidationModel(const Model& model, const Dataset& data, std::uint64_t memory_limit, ThreadPool& pool,
                  ProgressObserver* progress)
      : data_(data), pool_(pool) {
    require_training_data(model, data);
    TrainOptions options = options_of(model);
    auto folds = validation_folds(data, 1, options.run.seed);
    if (folds.empty())
      throw Error(BadInput{data.name, "split", "validation classes", "none",
                           "export without " + option_name("data") + "; the accuracy is then not measured"});
    fold_ = std::move(folds.front());
    if (memory_limit > 0) options.run.memory_limit = memory_limit;
    model_ = refit(options, data, fold_.fit, pool, progress);
    // Scored in blocks they round differently: without a limit they stay as they were.
    const std::size_t rows = fold_.unseen.size() + fold_.seen.size();
    if (!MatrixPlace::within(memory_limit).on_disk(rows, data.features.cols())) {
      unseen_ = gather_rows(data.features, fold_.unseen);
      seen_ = gather_rows(data.features, fold_.seen);
    }
    const Predictor predictor(model_, pool);
    const auto score = [&](MatrixView<const float> x, const ScoreVisitor& visit) {
      predictor.visit_scores(x, pool, visit);
    };
    const FoldResult result = evaluate_fold(scores(fold_.unseen, unseen_, score), scores(fold_.seen, seen_, score),
                                            data, fold_, /*pool=*/nullptr);
    before_ = {"", result.zsl, result.h};
    gamma_ = result.gamma;
  }

  const SelectionStep& before() const { return before_; }

  /// The accuracy of this model exported in this way, at the gamma of the float model.
  SelectionStep after(ExportCandidate way) const {
    if (way.rank >= model_.gates.networks) way.rank = 0;
    const DeviceModel device(exported(model_, way, pool_), "the exported model");
    const auto score = recogniser_of(device, pool_).visit_scores;
    const FoldResult result = evaluate_fold(scores(fold_.unseen, unseen_, score), scores(fold_.seen, seen_, score),
                                            data_, fold_, /*pool=*/nullptr, gamma_);
    return {"", result.zsl, result.h};
  }

 private:
  using Score = std::function<void(MatrixView<const float>, const ScoreVisitor&)>;

  /// Of these samples, whose features are in `held` unless there are too many.
  ScoreRows scores(std::span<const std::int32_t> rows, const Matrix<float>& held, Score score) const {
    return [&features = data_.features, rows, &held, score = std::move(score)](const ScoreVisitor& visit) {
      if (held.rows() == rows.size()) {
        if (!rows.empty()) score(held.view(), visit);
        return;
      }
      for (std::size_t start = 0; start < rows.size(); start += kScoredRows) {
        const auto some = rows.subspan(start, std::min(kScoredRows, rows.size() - start));
        score(gather_rows(features, some).view(),
              [&](std::size_t first, MatrixView<const float> scored) { visit(start + first, scored); });
      }
    };
  }

  const Dataset& data_;
  ThreadPool& pool_;
  Fold fold_;
  Model model_;
  Matrix<float> unseen_, seen_;  ///< features of the fold, unless they are too many
  SelectionStep before_;
  double gamma_ = 0;
};

/// All precisions and ranks that were not fixed, largest rank first; of the smallest precision also with fewer axes.
std::vector<ExportCandidate> candidates(const Model& model, const ExportOptions& options) {
  std::vector<Precision> precisions{Precision::float32, Precision::float16, Precision::int8};
  std::vector<std::size_t> ranks{0};
  for (const std::size_t rank : {128u, 96u, 64u, 48u, 32u, 24u, 16u, 12u, 8u, 6u, 4u, 3u, 2u, 1u})
    if (rank < model.gates.networks) ranks.push_back(rank);
  if (options.precision) precisions = {*options.precision};
  if (options.rank) ranks = {*options.rank};
  std::vector<ExportCandidate> all;
  for (const auto precision : precisions)
    for (const double class_space : {1.0, 0.875, 0.75, 0.625, 0.5})
      for (const double encoding : {1.0, 0.5, 0.25})
        for (const auto rank : ranks)
          if ((class_space == 1 || (precision == precisions.back() && can_lose_outputs(model))) &&
              (encoding == 1 || (precision == precisions.back() && can_lose_encoding(model))))
            all.push_back({precision, rank, class_space, encoding, 0, {}});
  return all;
}

double drop_of(const SelectionStep& before, const SelectionStep& after) {
  return std::max(before.zsl - after.zsl, before.h - after.h);
}

/// Under max_bytes: of each precision the three largest ranks that fit are measured, and where not all networks fit,
/// the largest rank for each share of the axes; of those within max_drop (of all, if none is) the best wins, of equals
/// the smallest file.
ExportCandidate choose(const Model& model, const ValidationModel& held_out, const ExportOptions& options,
                       ThreadPool& pool, ProgressObserver* progress, std::vector<ExportCandidate>& tried) {
  std::size_t smallest = 0;
  std::vector<ExportCandidate> fitting;
  std::map<std::tuple<Precision, double, double>, std::size_t> taken;
  bool all_fit = false;
  for (auto candidate : candidates(model, options)) {
    const bool whole = candidate.class_space == 1 && candidate.encoding == 1;
    auto& count = taken[{candidate.precision, candidate.class_space, candidate.encoding}];
    if (count == (whole ? 3u : 1u) || (!whole && all_fit)) continue;
    candidate.bytes = exported(model, candidate, pool).size();
    smallest = smallest == 0 ? candidate.bytes : std::min(smallest, candidate.bytes);
    if (candidate.bytes > options.max_bytes) continue;
    all_fit = all_fit || (whole && candidate.rank == 0 && candidate.precision == Precision::int8);
    ++count;
    fitting.push_back(candidate);
  }
  if (fitting.empty())
    throw Error(
        ErrorCode::failure,
        fmt::format("{}: no export is that small; the smallest has {} bytes. Train with a smaller {}",
                    option_name("max-bytes", std::to_string(options.max_bytes)), smallest, option_name("encoding")));
  for (auto& candidate : fitting) {
    report(progress, {"measure exports", tried.size(), fitting.size(), "candidates"});
    candidate.accuracy = held_out.after(candidate);
    tried.push_back(candidate);
  }
  const auto rank = [&](const ExportCandidate& c) {
    const bool within = drop_of(held_out.before(), c.accuracy) <= options.max_drop;
    return std::tuple(within, c.accuracy.merit(), -static_cast<double>(c.bytes));
  };
  return *std::ranges::max_element(tried, {}, rank);
}

}  // namespace

Exported export_model(const Model& model, const Dataset* data, const ExportOptions& options, ThreadPool& pool,
                      ProgressObserver* progress) {
  if (options.max_bytes > 0 && data == nullptr)
    throw Error(ErrorCode::usage, fmt::format("{} requires {}: the choice is made on validation classes",
                                              option_name("max-bytes"), option_name("data")));
  Exported result;
  result.choice.precision = options.precision.value_or(Precision::int8);
  result.choice.rank = options.rank.value_or(0);
  if (data == nullptr) {
    result.file = exported(model, result.choice, pool);
  } else {
    const ValidationModel held_out(model, *data, options.memory_limit, pool, progress);
    if (options.max_bytes > 0)
      result.choice = choose(model, held_out, options, pool, progress, result.tried);
    else
      result.choice.accuracy = held_out.after(result.choice);
    result.validated = true;
    result.before = held_out.before();
    const auto& after = result.choice.accuracy;
    if (drop_of(result.before, after) > options.max_drop) {
      std::string message = fmt::format(
          "export as {}, {}: accuracy on validation classes falls from ZSL {:.2f}, H {:.2f} to ZSL {:.2f}, H {:.2f}, "
          "more than {} allows; nothing was written. ",
          name_of(result.choice.precision),
          result.choice.rank == 0 ? "all networks" : fmt::format("rank {}", result.choice.rank), result.before.zsl,
          result.before.h, after.zsl, after.h, option_name("max-drop", fmt::format("{}", options.max_drop)));
      message += options.max_bytes > 0
                     ? fmt::format("It is the best of {} that fit: use a larger {}", result.tried.size(),
                                   option_name("max-bytes"))
                     : fmt::format("Use a higher {} or {}", option_name("rank"), option_name("precision"));
      throw Error(ErrorCode::failure, message);
    }
    result.file = exported(model, result.choice, pool);
  }
  result.choice.bytes = result.file.size();
  if (!model.rejection.empty() && model.targets == Targets::semantics)
    result.warnings.push_back(
        fmt::format("the device file cannot tell unknown samples: that needs {}", option_name("method", "parsnets")));
  // What was written must open: by our own reader and by the runtime.
  const DeviceModel opens(result.file, "the exported model");
  return result;
}

/// Words in hexadecimal, so that the array is aligned without compiler extensions.
std::string c_header(std::span<const std::byte> file, const std::string& name) {
  bool identifier = !name.empty() && std::isdigit(static_cast<unsigned char>(name[0])) == 0;
  for (const char c : name) identifier = identifier && (std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_');
  static const std::set<std::string> reserved{
      "auto",   "break",    "case",     "char",     "const", "continue", "default", "do",     "double",
      "else",   "enum",     "extern",   "float",    "for",   "goto",     "if",      "inline", "int",
      "long",   "register", "restrict", "return",   "short", "signed",   "sizeof",  "static", "struct",
      "switch", "typedef",  "union",    "unsigned", "void",  "volatile", "while",   "size_t", "uint32_t"};
  identifier = identifier && !reserved.contains(name);
  if (!identifier)
    throw Error(ErrorCode::usage,
                option_name("c-header") + ": expected a C identifier as its name, found '" + name + "'");
  if (file.empty()) return "";
  const DeviceModel model({file.begin(), file.end()}, "the device file");
  std::string source;  // its names are left out: they might end the comment
  if (const auto& made = model.source())
    source = fmt::format(
        "\n * Features come from the backbone of sha256 {},\n * {} x {} {} {}: see pnrt_feature_source.", made->sha256,
        made->input.width, made->input.height, name_of(made->input.preset), name_of(made->input.fit));
  std::string text = fmt::format(
      "/* A device model exported by ParsNets. For pnrt_open(&model, {0}, {0}_bytes).\n"
      " * {0}_work_bytes: working memory of its calls, without a bank.{4} */\n"
      "#ifndef {0}_INCLUDED\n#define {0}_INCLUDED\n\n#include <stddef.h>\n#include <stdint.h>\n\n"
      "enum {{ {0}_work_bytes = {3} }};\nstatic const size_t {0}_bytes = {1};\nstatic const uint32_t {0}[{2}] = {{\n",
      name, file.size(), file.size() / 4, model.work_bytes(), source);
  text.reserve(text.size() + file.size() * 3);
  for (std::size_t i = 0; i + 4 <= file.size(); i += 4) {
    std::uint32_t word = 0;
    for (std::size_t b = 0; b < 4; ++b) word |= std::to_integer<std::uint32_t>(file[i + b]) << (8 * b);
    fmt::format_to(std::back_inserter(text), "0x{:08x},{}", word, i % 40 == 36 ? "\n" : "");
  }
  return text + "\n};\n\n#endif\n";
}

}  // namespace parsnets
