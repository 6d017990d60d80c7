#include <opencv2/dnn.hpp>

#include "engine.hpp"
#include "onnx_outline.hpp"
#include "product_convolution.hpp"

namespace parsnets {

namespace {

/// Of the node that OpenCV names in its message: "> Node [NonZero@ai.onnx]:(name) parse error: …".
std::string operator_in(const std::string& message) {
  constexpr std::string_view kNode = "Node [";
  const auto start = message.find(kNode);
  if (start == std::string::npos) return "";
  const auto name = start + kNode.size();
  return message.substr(name, message.find_first_of("@]", name) - name);
}

/// Throws for networks that OpenCV does not read, and says why in words of the network.
cv::dnn::Net read_network(const std::string& network, const EngineOptions& options) {
  const std::string remedy = "or use ONNX Runtime";
  if (!options.without_shape.empty())
    throw std::runtime_error("the output '" + options.without_shape + "' has no shape, which " + opencv_name() +
                             " needs; export the network with the shapes of its outputs, " + remedy);
  try {
    return cv::dnn::readNetFromONNX(network.data(), network.size());
  } catch (const cv::Exception& error) {
    const std::string name = operator_in(error.err);
    if (error.code == cv::Error::StsNoMem) throw;
    if (name.empty())
      throw std::runtime_error(opencv_name() + " does not read the network; export it with opset 10, " + remedy);
    throw std::runtime_error(opencv_name() + " does not support " +
                             (error.err.find("Can't create layer") == std::string::npos
                                  ? "this variant of the operator " + name
                                  : "the operator " + name) +
                             "; export the network with opset 10, " + remedy);
  }
}

class OpenCvEngine final : public Engine {
 public:
  OpenCvEngine(const std::string& network, const EngineOptions& options)
      : layer_(options.layer),
        maxima_(options.maxima),
        shape_{1, 3, static_cast<int>(options.height), static_cast<int>(options.width)} {
    const ProductConvolutions ours;
    net_ = read_network(network, options);
    net_.setPreferableBackend(cv::dnn::DNN_BACKEND_OPENCV);
    net_.setPreferableTarget(cv::dnn::DNN_TARGET_CPU);
    std::vector<float> features;
    run(std::vector<float>(3 * options.width * options.height), features);  // layers are made at the first run
  }

  std::string name() const override { return opencv_name(); }

  void run(std::span<const float> input, std::vector<float>& features) override {
    net_.setInput(cv::Mat(shape_, CV_32F, const_cast<float*>(input.data())));  // which it does not change
    const cv::Mat output = net_.forward(layer_);
    if (output.type() != CV_32F || !output.isContinuous())
      throw std::runtime_error("expected a layer of 32-bit floating-point values, found another type");
    pool_positions({output.ptr<float>(), output.total()}, {output.size.p, output.size.p + output.dims}, maxima_,
                   features);
  }

 private:
  cv::dnn::Net net_;
  std::string layer_;
  bool maxima_;
  std::vector<int> shape_;
};

}  // namespace

std::unique_ptr<Engine> open_opencv_engine(const std::string& network, const EngineOptions& options) {
  if (options.layer_is_output) return std::make_unique<OpenCvEngine>(network, options);
  return std::make_unique<OpenCvEngine>(network + output_to_append(options.layer, true), options);
}

std::string opencv_name() { return "OpenCV " + cv::getVersionString(); }

}  // namespace parsnets
