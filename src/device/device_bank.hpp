#pragma once
// DeviceBank: a device model whose classes change, as on the device.

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "parsnets/device.hpp"

namespace parsnets {

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

}  // namespace parsnets
