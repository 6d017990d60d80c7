#include <opencv2/dnn.hpp>

#include "engine.hpp"
#include "onnx_outline.hpp"

namespace parsnets {

namespace {

class OpenCvEngine final : public Engine {
 public:
  OpenCvEngine(const std::string& network, const EngineOptions& options)
      : net_(cv::dnn::readNetFromONNX(network.data(), network.size())),
        layer_(options.layer),
        shape_{1, 3, static_cast<int>(options.height), static_cast<int>(options.width)} {
    net_.setPreferableBackend(cv::dnn::DNN_BACKEND_OPENCV);
    net_.setPreferableTarget(cv::dnn::DNN_TARGET_CPU);
  }

  std::string name() const override { return opencv_name(); }
  bool is_thread_safe() const override { return false; }

  void run(std::span<const float> input, std::vector<float>& features) override {
    net_.setInput(cv::Mat(shape_, CV_32F, const_cast<float*>(input.data())));  // which it does not change
    const cv::Mat output = net_.forward(layer_);
    if (output.type() != CV_32F || !output.isContinuous())
      throw std::runtime_error("expected a layer of 32-bit floating-point values, found another type");
    average_positions({output.ptr<float>(), output.total()}, {output.size.p, output.size.p + output.dims}, features);
  }

 private:
  cv::dnn::Net net_;
  std::string layer_;
  std::vector<int> shape_;
};

}  // namespace

std::unique_ptr<Engine> open_opencv_engine(const std::string& network, const EngineOptions& options) {
  if (options.layer_is_output) return std::make_unique<OpenCvEngine>(network, options);
  return std::make_unique<OpenCvEngine>(network + output_to_append(options.layer, true), options);
}

std::string opencv_name() { return "OpenCV " + cv::getVersionString(); }

}  // namespace parsnets
