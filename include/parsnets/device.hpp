#pragma once
// Export: a Model as a small file that two C files run on a device (docs/device.md), and that file run from here.

#include <array>
#include <cstddef>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "parsnets/dataset.hpp"
#include "parsnets/evaluation.hpp"
#include "parsnets/feature_source.hpp"
#include "parsnets/model.hpp"
#include "parsnets/predictor.hpp"
#include "parsnets/progress.hpp"
#include "parsnets/threads.hpp"
#include "parsnets/training.hpp"

namespace parsnets {

/// How a device file stores weights.
enum class Precision {
  float32,
  float16,
  int8  ///< a scale per row; sums are exact, so results are equal bit for bit on every machine
};

/// The device file of a forward model; with targets semantics it leaves out the rejection. `rank` r: the K networks
/// become mixtures of r stored ones (0 or K: stored as they are). The bytes depend on the arguments alone.
/// Throws usage for a reverse model or a rank above K, bad_input for a model the format cannot hold.
std::vector<std::byte> device_file(const Model& model, Precision precision, std::size_t rank, ThreadPool& pool);

/// A device file, checked by the library's own reader and run by the C runtime. Const methods are thread-safe.
class DeviceModel {
 public:
  /// Throws bad_input; `name` is for messages.
  DeviceModel(std::vector<std::byte> file, const std::string& name);
  ~DeviceModel();
  /// The model that was moved from may only be destroyed.
  DeviceModel(DeviceModel&&) noexcept;

  std::span<const std::byte> bytes() const;  ///< the file; valid as long as the model
  std::size_t dimensions() const;            ///< d, features per sample
  std::size_t attributes() const;            ///< m
  std::size_t outputs() const;               ///< o, values of a prediction
  Precision precision() const;               ///< of the networks
  std::size_t rank() const;                  ///< networks that are stored, of which the others are mixtures; 0: all
  std::size_t work_bytes() const;            ///< working memory of a prediction
  std::uint64_t multiply_adds() const;       ///< of one prediction with scores
  const char* instruction_set() const;       ///< "AVX-512 VNNI", "AVX2", "SDOT", "NEON" or "none"
  const std::vector<std::string>& class_names() const;  ///< C
  const std::vector<std::uint8_t>& class_seen() const;  ///< C; 1: had training samples
  double gamma() const;                                 ///< subtracted from the scores of seen classes
  double temperature() const;                           ///< of the softmax that makes confidences
  const std::optional<FeatureSource>& source() const;   ///< what made the features of training; none: not known
  /// The parts that are there, in the order of the file: name (docs/device.md), type (F32, F16, I8 or bytes) and shape.
  std::vector<std::array<std::string, 3>> sections() const;

  /// n x d raw features to n x o predictions, one sample at a time by the runtime. Throws bad_input.
  Matrix<float> predict(MatrixView<const float> x, ThreadPool& pool) const;
  /// The same to n x C scores; gamma is not applied.
  Matrix<float> scores(MatrixView<const float> x, ThreadPool& pool) const;

  bool rejects() const;  ///< whether the file has what tells unknown samples
  /// n x d raw features to n verdicts; 1: of none of the classes among which the best was looked for, or there are
  /// none. `known_scores` receives n values of Rejection::known_score() unless it is empty. Throws usage for a model
  /// that does not reject, bad_input.
  std::vector<std::uint8_t> unknown(MatrixView<const float> x, Among among, ThreadPool& pool,
                                    std::span<float> known_scores = {}) const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// Reads and checks a device file. Throws bad_input.
DeviceModel load_device_model(const std::filesystem::path& file);
/// Whether a file begins as a device file does.
bool is_device_file(const std::filesystem::path& file);
/// The protocol on a data set's test samples, as for a Model. Throws bad_input for features of another source.
Evaluation evaluate(const DeviceModel& model, const Dataset& data, ThreadPool& pool,
                    ProgressObserver* progress = nullptr);

/// What export_model writes, and what it may cost.
struct ExportOptions {
  std::optional<Precision> precision = {};  ///< none: int8, or chosen under max_bytes
  std::optional<std::size_t> rank = {};     ///< none: all networks, or chosen under max_bytes
  std::uint64_t max_bytes = 0;     ///< 0: no bound; otherwise all of ExportCandidate is chosen by validation accuracy
  double max_drop = 0.5;           ///< points of ZSL or H that export may cost on validation classes
  std::uint64_t memory_limit = 0;  ///< bytes for the whole process while accuracy is measured; 0: none
};

/// A way to store the networks, and what it costs.
struct ExportCandidate {
  Precision precision = Precision::int8;  ///< of the networks
  std::size_t rank = 0;                   ///< stored networks; 0: all
  double class_space = 1;                 ///< share of its axes that is kept, the principal ones
  double encoding = 1;                    ///< the same of the encoding
  std::size_t bytes = 0;                  ///< of the file
  SelectionStep accuracy = {};            ///< of the exported model on validation classes
};

/// A device file, and what export cost.
struct Exported {
  std::vector<std::byte> file;         ///< to be written as it is
  ExportCandidate choice;              ///< its accuracy is that after export
  bool validated = false;              ///< false: no data were given, there are no accuracies
  SelectionStep before;                ///< of the model before export
  std::vector<ExportCandidate> tried;  ///< what was measured under max_bytes
  std::vector<std::string> warnings;   ///< what the file lacks of the model
};

/// Exports a model. With `data` (the set the model was trained on) the cost is measured: the model's options are fitted
/// again without the validation classes, that model is exported in the same way, and both are scored on them, the
/// exported one by the C runtime. Throws failure when the drop is above max_drop or nothing fits in max_bytes, usage
/// when max_bytes comes without data, bad_input when `data` is not the set the model was trained on or has no
/// validation classes.
Exported export_model(const Model& model, const Dataset* data, const ExportOptions& options, ThreadPool& pool,
                      ProgressObserver* progress = nullptr);

/// A device file as a C header with one const array `name` (32-bit words, so aligned), `name`_bytes and
/// `name`_work_bytes. `name` must be a C identifier (throws usage), which is all that is checked for an empty file.
std::string c_header(std::span<const std::byte> file, const std::string& name);

/// Every precision by its name: float32, float16, int8.
const std::vector<std::pair<std::string, Precision>>& precision_names();

}  // namespace parsnets
