#pragma once
// Row-major matrices: a view that owns nothing and a move-only matrix that owns its storage
// (heap memory or a mapped file). Row-major is the convention of the whole library.

#include <cstddef>
#include <functional>
#include <limits>
#include <memory>
#include <new>
#include <span>
#include <utility>

/// The C++ API of ParsNets.
namespace parsnets {

/// Non-owning view of `rows` x `cols` contiguous values.
template <class T>
class MatrixView {
 public:
  MatrixView() = default;
  /// Refers to rows*cols values, which must outlive the view.
  MatrixView(T* data, std::size_t rows, std::size_t cols) : data_(data), rows_(rows), cols_(cols) {}

  T* data() const { return data_; }                                                   ///< the first value
  std::size_t rows() const { return rows_; }                                          ///< number of rows
  std::size_t cols() const { return cols_; }                                          ///< values of a row
  std::size_t size() const { return rows_ * cols_; }                                  ///< number of values
  bool empty() const { return size() == 0; }                                          ///< whether there is no value
  T& operator()(std::size_t r, std::size_t c) const { return data_[r * cols_ + c]; }  ///< a value; not checked
  std::span<T> row(std::size_t r) const { return {data_ + r * cols_, cols_}; }        ///< a row; not checked
  std::span<T> values() const { return {data_, size()}; }                             ///< all values, row by row
  operator MatrixView<const T>() const { return {data_, rows_, cols_}; }              ///< the same, read-only

 private:
  T* data_ = nullptr;
  std::size_t rows_ = 0, cols_ = 0;
};

/// Owning row-major matrix. Move-only, so that a copy of a large matrix is always written out (`copy_of`).
template <class T>
class Matrix {
 public:
  Matrix() = default;
  Matrix& operator=(const Matrix&) = delete;
  Matrix(Matrix&&) noexcept = default;             ///< the other may only be assigned to or destroyed
  Matrix& operator=(Matrix&&) noexcept = default;  ///< likewise
  /// `rows` x `cols` values, uninitialised: pages of memory are first used when they are written.
  Matrix(std::size_t rows, std::size_t cols)
      : Matrix({allocate(rows, cols), [](T* p) { ::operator delete (p, std::align_val_t{64}); }}, rows, cols, false) {}
  /// `rows` x `cols` values, all equal to `fill`.
  Matrix(std::size_t rows, std::size_t cols, T fill) : Matrix(rows, cols) {
    for (auto& v : values()) v = fill;
  }
  /// Takes over foreign storage of rows*cols values; `release` is called once with `data`.
  static Matrix adopt(T* data, std::size_t rows, std::size_t cols, std::function<void(T*)> release) {
    return {{data, std::move(release)}, rows, cols, false};
  }
  /// The same for values of a file that is mapped and never written to.
  static Matrix adopt_mapped(T* data, std::size_t rows, std::size_t cols, std::function<void(T*)> release) {
    return {{data, std::move(release)}, rows, cols, true};
  }
  /// A copy with storage of its own.
  static Matrix copy_of(MatrixView<const T> source) {
    Matrix m(source.rows(), source.cols());
    for (std::size_t i = 0; i < source.size(); ++i) m.data()[i] = source.data()[i];
    return m;
  }
  /// A second owner of the same values, which nobody may change from then on.
  Matrix share() const { return *this; }
  bool is_mapped() const { return mapped_; }  ///< whether the values are those of a mapped file

  T* data() { return storage_.get(); }                                           ///< the first value
  const T* data() const { return storage_.get(); }                               ///< the first value
  std::size_t rows() const { return rows_; }                                     ///< number of rows
  std::size_t cols() const { return cols_; }                                     ///< values of a row
  std::size_t size() const { return rows_ * cols_; }                             ///< number of values
  bool empty() const { return size() == 0; }                                     ///< whether there is no value
  T& operator()(std::size_t r, std::size_t c) { return data()[r * cols_ + c]; }  ///< a value; not checked
  const T& operator()(std::size_t r, std::size_t c) const { return data()[r * cols_ + c]; }  ///< a value; not checked
  std::span<T> row(std::size_t r) { return {data() + r * cols_, cols_}; }                    ///< a row; not checked
  std::span<const T> row(std::size_t r) const { return {data() + r * cols_, cols_}; }        ///< a row; not checked
  std::span<T> values() { return {data(), size()}; }                                         ///< all values, row by row
  std::span<const T> values() const { return {data(), size()}; }                             ///< all values, row by row
  MatrixView<T> view() { return {data(), rows_, cols_}; }              ///< valid as long as the storage
  MatrixView<const T> view() const { return {data(), rows_, cols_}; }  ///< valid as long as the storage

 private:
  Matrix(const Matrix&) = default;
  Matrix(std::shared_ptr<T> storage, std::size_t rows, std::size_t cols, bool mapped)
      : storage_(std::move(storage)), rows_(rows), cols_(cols), mapped_(mapped) {}
  static T* allocate(std::size_t rows, std::size_t cols) {
    if (cols != 0 && rows > std::numeric_limits<std::size_t>::max() / sizeof(T) / cols) throw std::bad_alloc();
    return static_cast<T*>(::operator new (rows* cols * sizeof(T), std::align_val_t{64}));
  }

  std::shared_ptr<T> storage_;
  std::size_t rows_ = 0, cols_ = 0;
  bool mapped_ = false;
};

}  // namespace parsnets
