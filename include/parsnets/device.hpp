#pragma once
// Export: a Model as a small file that two C files run on a device (docs/device.md), and that file run from here.

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
#include "parsnets/progress.hpp"
#include "parsnets/ranking.hpp"
#include "parsnets/threads.hpp"
#include "parsnets/training.hpp"

namespace parsnets {

/// How a device file stores weights.
enum class Precision {
  float32,
  float16,
  int8  ///< a scale per row; sums are exact, so results are equal bit for bit on every machine
};

/// The device file of a forward model: format version 1 with targets semantics, which leaves out its rejection, 2 with
/// targets classes, 3 if that has a rejection, and 3 more if the record says what made the features. `rank` r: the K
/// networks become mixtures of r stored ones (0 or K: stored as they are). The bytes depend on the arguments alone.
/// Throws usage for a reverse model or a rank above K, bad_input for a model the format cannot hold.
std::vector<std::byte> device_file(const Model& model, Precision precision, std::size_t rank, ThreadPool& pool);

/// One part of a device file, as `parsnets info` lists it.
struct DeviceSectionInfo {
  std::string name, type;          ///< as docs/device.md lists them; the type is F32, F16, I8 or bytes
  std::size_t rows = 0, cols = 0;  ///< its shape
};

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
  const char* instruction_set() const;       ///< "AVX2", "NEON" or "none"
  const std::vector<std::string>& class_names() const;  ///< C
  const std::vector<std::uint8_t>& class_seen() const;  ///< C; 1: had training samples
  double gamma() const;                                 ///< subtracted from the scores of seen classes
  double temperature() const;                           ///< of the softmax that makes confidences
  double head_weight() const;                           ///< of the semantic head beside class space; 0: none
  const std::optional<FeatureSource>& source() const;   ///< what made the features of training; none: not known
  std::vector<DeviceSectionInfo> sections() const;      ///< those that are there, in the order of the file

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
  friend class DeviceBank;
  struct State;
  std::unique_ptr<State> state_;
};

/// Classes of a device model that learn in the field (docs/device.md), run by the C runtime: classes are added and
/// removed, and their places move by examples and by unlabelled samples. The model itself never changes. Const methods
/// are thread-safe, changes need exclusive access. Classes of the model come first; added ones take the first free of
/// `capacity` slots after them.
class DeviceBank {
 public:
  /// `model` must outlive the bank; it may be moved. Throws usage unless it has targets classes.
  explicit DeviceBank(const DeviceModel& model, std::size_t capacity = 0);
  ~DeviceBank();
  /// The bank that was moved from may only be destroyed.
  DeviceBank(DeviceBank&&) noexcept;

  std::vector<std::string> class_names() const;  ///< one per slot; empty: there is no class
  /// Adds an unseen class with m raw attributes. Throws bad_input.
  void add_class(const std::string& name, std::span<const float> attributes);
  /// Removes a class and what was learned of it. Throws bad_input.
  void remove_class(const std::string& name);

  /// Learns from n x d unlabelled raw samples, all with the places as they are before the call: one sample, or some.
  /// Moves unseen classes; returns how many. Throws bad_input; nothing changes then.
  std::size_t adapt(MatrixView<const float> x);
  /// Learns from n x d raw examples of a class. Throws bad_input; nothing changes then.
  void teach(const std::string& name, MatrixView<const float> x);
  /// Forgets all samples: classes are where the model or their attributes place them.
  void forget();

  /// n x d raw features to n x slots scores; gamma is not applied, slots without a class have the lowest float.
  Matrix<float> scores(MatrixView<const float> x, ThreadPool& pool) const;
  bool rejects() const;  ///< as of the model
  /// n x d raw features to n verdicts, as of the model, with the classes of the bank.
  std::vector<std::uint8_t> unknown(MatrixView<const float> x, Among among, ThreadPool& pool) const;
  /// slots x o: the vectors that predictions are compared with; 0 for slots without a class.
  Matrix<float> vectors() const;

  /// Added and removed classes and what was learned, as the C runtime saves them.
  std::vector<std::byte> save() const;
  /// Replaces all of that. Throws bad_input for damaged bytes, another model or a larger capacity; nothing changes
  /// then.
  void load(std::span<const std::byte> saved);

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
  std::optional<Precision> precision;  ///< none: int8, or chosen under max_bytes
  std::optional<std::size_t> rank;     ///< none: all networks, or chosen under max_bytes
  std::uint64_t max_bytes = 0;         ///< 0: no bound; otherwise precision and rank are chosen by validation accuracy
  double max_drop = 0.5;               ///< points of ZSL or H that export may cost on validation classes
  std::uint64_t memory_limit = 0;      ///< bytes for the whole process while accuracy is measured; 0: none
};

/// Accuracy on validation classes, in percent.
struct ValidationAccuracy {
  double zsl = 0, h = 0;  ///< per-class top-1 of the classes held out, and the harmonic mean
};

/// A way to store the networks, and what it costs.
struct ExportCandidate {
  Precision precision = Precision::int8;  ///< of the networks
  std::size_t rank = 0;                   ///< stored networks; 0: all
  std::size_t bytes = 0;                  ///< of the file
  ValidationAccuracy accuracy;            ///< of the exported model
};

/// A device file, and what export cost.
struct Exported {
  std::vector<std::byte> file;         ///< to be written as it is
  ExportCandidate choice;              ///< its accuracy is that after export
  bool validated = false;              ///< false: no data were given, there are no accuracies
  ValidationAccuracy before;           ///< of the model before export
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
