#include "product_convolution.hpp"

#include <algorithm>
#include <opencv2/dnn.hpp>
#include <opencv2/dnn/all_layers.hpp>
#include <opencv2/dnn/layer.hpp>

#include "base/matrix_product.hpp"

namespace parsnets {

namespace {

namespace dnn = cv::dnn;

constexpr const char* kType = "Convolution";
// Values of the inputs of a strip of the output, which stay in the cache.
constexpr std::size_t kMostGathered = 1 << 19;

/// Height and width.
struct Sides {
  std::size_t y = 0, x = 0;
};
Sides sides(const std::vector<std::size_t>& of) { return {of[0], of[1]}; }

/// The sum over the inputs of an output value is one chain of multiply-adds by channel, row and column of the kernel.
class ProductConvolution final : public dnn::Layer {
 public:
  ProductConvolution(const dnn::BaseConvolutionLayer& like, const dnn::LayerParams& params)
      : kernel_(sides(like.kernel_size)),
        stride_(sides(like.strides)),
        dilation_(sides(like.dilations)),
        before_(sides(like.pads_begin)),
        after_(sides(like.pads_end)) {
    setParamsFrom(params);
    const cv::Mat weights = blobs[0];
    outputs_ = static_cast<std::size_t>(weights.size[0]);
    inputs_ = weights.total() / outputs_;
    weights_.assign(weights.ptr<float>(), weights.ptr<float>() + weights.total());
    bias_.assign(outputs_, 0.0f);
    if (blobs.size() > 1) std::copy_n(blobs[1].ptr<float>(), outputs_, bias_.begin());
    blobs.clear();
  }

  bool supportBackend(int backend) override { return backend == dnn::DNN_BACKEND_OPENCV; }

  bool getMemoryShapes(const std::vector<dnn::MatShape>& inputs, int, std::vector<dnn::MatShape>& outputs,
                       std::vector<dnn::MatShape>&) const override {
    CV_Assert(inputs.size() == 1 && inputs[0].size() == 4);
    const auto& in = inputs[0];
    CV_Assert(static_cast<std::size_t>(in[1]) * kernel_.y * kernel_.x == inputs_);
    const Sides out = output_of({static_cast<std::size_t>(in[2]), static_cast<std::size_t>(in[3])});
    outputs = {{in[0], static_cast<int>(outputs_), static_cast<int>(out.y), static_cast<int>(out.x)}};
    return false;
  }

  /// Folds what multiplies and shifts channels, such as batch normalisation, into the weights.
  bool tryFuse(cv::Ptr<dnn::Layer>& next) override {
    if (activation_) return false;
    cv::Mat scale, shift;
    next->getScaleShift(scale, shift);
    const auto suits = [&](const cv::Mat& values) {
      return values.empty() || (values.type() == CV_32F && values.isContinuous() && values.total() == outputs_);
    };
    if ((scale.empty() && shift.empty()) || !suits(scale) || !suits(shift)) return false;
    for (std::size_t o = 0; o < outputs_ && !scale.empty(); ++o) {
      const float factor = scale.ptr<float>()[o];
      for (std::size_t k = 0; k < inputs_; ++k) weights_[o * inputs_ + k] *= factor;
      bias_[o] *= factor;
    }
    for (std::size_t o = 0; o < outputs_ && !shift.empty(); ++o) bias_[o] += shift.ptr<float>()[o];
    return true;
  }

  bool setActivation(const cv::Ptr<dnn::ActivationLayer>& layer) override {
    if (activation_ && layer) return false;
    activation_ = layer;
    return static_cast<bool>(layer);
  }

  void forward(cv::InputArrayOfArrays from, cv::OutputArrayOfArrays to, cv::OutputArrayOfArrays) override {
    std::vector<cv::Mat> in, out;
    from.getMatVector(in);
    to.getMatVector(out);
    CV_Assert(in[0].isContinuous() && out[0].isContinuous() && in[0].type() == CV_32F);
    const Sides size{static_cast<std::size_t>(in[0].size[2]), static_cast<std::size_t>(in[0].size[3])};
    for (int n = 0; n < in[0].size[0]; ++n) run(in[0].ptr<float>(n), size, out[0].ptr<float>(n));
  }

 private:
  Sides output_of(Sides in) const {
    const auto side = [](std::size_t size, std::size_t kernel, std::size_t dilation, std::size_t stride) {
      const std::size_t covered = dilation * (kernel - 1) + 1;
      CV_Assert(size >= covered);
      return (size - covered) / stride + 1;
    };
    return {side(in.y + before_.y + after_.y, kernel_.y, dilation_.y, stride_.y),
            side(in.x + before_.x + after_.x, kernel_.x, dilation_.x, stride_.x)};
  }

  bool reads_in_place() const {
    return kernel_.y * kernel_.x * stride_.y * stride_.x == 1 && before_.y + before_.x + after_.y + after_.x == 0;
  }

  void run(const float* x, Sides in, float* y) {
    const Sides out = output_of(in);
    const std::size_t plane = out.y * out.x,
                      height = std::clamp<std::size_t>(kMostGathered / (inputs_ * out.x), 1, out.y);
    for (std::size_t top = 0; top < out.y; top += height) {
      const std::size_t rows = std::min(height, out.y - top), first = top * out.x, count = rows * out.x;
      Factor<float> inputs{x + first, plane};
      if (!reads_in_place()) {
        thread_local std::vector<float> gathered;  // of all layers that the thread runs
        gathered.resize(std::max(gathered.size(), inputs_ * count));
        for (std::size_t k = 0; k < inputs_; ++k) gather(x, in, k, out.x, top, rows, gathered.data() + k * count);
        inputs = {gathered.data(), count};
      }
      multiply_blocks<float>(nullptr, outputs_, count, inputs_, 1, {weights_.data(), inputs_}, inputs, 0, y + first,
                             plane);
      for (std::size_t o = 0; o < outputs_; ++o) {
        float* values = y + o * plane + first;
        for (std::size_t i = 0; i < count; ++i) values[i] += bias_[o];
      }
      if (activation_)
        activation_->forwardSlice(y + first, y + first, static_cast<int>(count), plane, 0, static_cast<int>(outputs_));
    }
  }

  /// What input k is multiplied with for some rows of the output.
  void gather(const float* x, Sides in, std::size_t k, std::size_t width, std::size_t top, std::size_t rows,
              float* to) const {
    const std::size_t kernel = kernel_.y * kernel_.x, at_y = k % kernel / kernel_.x * dilation_.y,
                      at_x = k % kernel_.x * dilation_.x;
    const float* channel = x + k / kernel * in.y * in.x;
    // Columns of the output of which the input is not padding.
    const std::size_t left = at_x >= before_.x ? 0 : (before_.x - at_x + stride_.x - 1) / stride_.x,
                      begin = std::min(left, width),
                      last = before_.x + in.x > at_x ? (before_.x + in.x - at_x - 1) / stride_.x + 1 : 0,
                      end = std::max(begin, std::min(last, width));
    for (std::size_t r = 0; r < rows; ++r, to += width) {
      const std::size_t row = (top + r) * stride_.y + at_y;
      if (row < before_.y || row >= before_.y + in.y) {
        std::fill_n(to, width, 0.0f);
        continue;
      }
      const float* from = channel + (row - before_.y) * in.x + begin * stride_.x + at_x - before_.x;
      std::fill_n(to, begin, 0.0f);
      if (stride_.x == 1)
        std::copy_n(from, end - begin, to + begin);
      else
        for (std::size_t i = begin; i < end; ++i) to[i] = from[(i - begin) * stride_.x];
      std::fill(to + end, to + width, 0.0f);
    }
  }

  Sides kernel_, stride_, dilation_, before_, after_;
  std::size_t inputs_ = 0, outputs_ = 0;  ///< per value of the output; channels of it
  std::vector<float> weights_, bias_;     ///< outputs_ x inputs_; outputs_
  cv::Ptr<dnn::ActivationLayer> activation_;
};

bool is_float(const cv::Mat& values) { return values.type() == CV_32F && values.isContinuous(); }

cv::Ptr<dnn::Layer> make_convolution(dnn::LayerParams& params) {
  const cv::Ptr<dnn::BaseConvolutionLayer> own = dnn::ConvolutionLayer::create(params);
  const bool suits = own->kernel_size.size() == 2 && own->padMode.empty() && params.get<int>("group", 1) == 1 &&
                     !params.blobs.empty() && params.blobs[0].dims == 4 && std::ranges::all_of(params.blobs, is_float);
  if (!suits) return own;
  return cv::makePtr<ProductConvolution>(*own, params);
}

}  // namespace

ProductConvolutions::ProductConvolutions() { dnn::LayerFactory::registerLayer(kType, make_convolution); }
ProductConvolutions::~ProductConvolutions() { dnn::LayerFactory::unregisterLayer(kType); }

}  // namespace parsnets
