#include <onnxruntime_c_api.h>

#include <stdexcept>

#include "engine.hpp"
#include "onnx_outline.hpp"

namespace parsnets {

namespace {

/// Functions of the first version are enough, so that the library may be older than the headers.
const OrtApi& api() {
  static const OrtApi* const functions = OrtGetApiBase()->GetApi(1);
  if (functions == nullptr) throw std::runtime_error(onnxruntime_name() + " lacks the functions of version 1");
  return *functions;
}

void check(OrtStatus* status) {
  if (status == nullptr) return;
  const std::string message = api().GetErrorMessage(status);
  api().ReleaseStatus(status);
  throw std::runtime_error(message);
}

/// Owns what the library made.
template <class T>
using Owned = std::unique_ptr<T, void (*)(T*)>;

/// `make` has the result as its last argument.
template <class T, class Make>
Owned<T> owned(Make make, void (*release)(T*)) {
  T* made = nullptr;
  check(make(&made));
  return {made, release};
}

class OnnxRuntimeEngine final : public Engine {
 public:
  OnnxRuntimeEngine(const std::string& network, const EngineOptions& options)
      : options_(options),
        environment_(
            owned<OrtEnv>([](OrtEnv** made) { return api().CreateEnv(ORT_LOGGING_LEVEL_FATAL, "parsnets", made); },
                          api().ReleaseEnv)),
        memory_(owned<OrtMemoryInfo>(
            [](OrtMemoryInfo** made) { return api().CreateCpuMemoryInfo(OrtArenaAllocator, OrtMemTypeDefault, made); },
            api().ReleaseMemoryInfo)),
        session_(nullptr, api().ReleaseSession) {
    check(api().DisableTelemetryEvents(environment_.get()));
    const auto settings = owned<OrtSessionOptions>(
        [](OrtSessionOptions** made) { return api().CreateSessionOptions(made); }, api().ReleaseSessionOptions);
    check(api().SetIntraOpNumThreads(settings.get(), 1));
    session_ = owned<OrtSession>(
        [&](OrtSession** made) {
          return api().CreateSessionFromArray(environment_.get(), network.data(), network.size(), settings.get(), made);
        },
        api().ReleaseSession);
  }

  std::string name() const override { return onnxruntime_name(); }

  void run(std::span<const float> input, std::vector<float>& features) override {
    const std::vector<std::int64_t> shape{1, 3, static_cast<std::int64_t>(options_.height),
                                          static_cast<std::int64_t>(options_.width)};
    const auto tensor = owned<OrtValue>(
        [&](OrtValue** made) {  // it does not change the input
          return api().CreateTensorWithDataAsOrtValue(memory_.get(), const_cast<float*>(input.data()),
                                                      input.size_bytes(), shape.data(), shape.size(),
                                                      ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT, made);
        },
        api().ReleaseValue);
    const char *from = options_.input.c_str(), *to = options_.layer.c_str();
    const OrtValue* given = tensor.get();
    const auto result = owned<OrtValue>(
        [&](OrtValue** made) { return api().Run(session_.get(), nullptr, &from, &given, 1, &to, 1, made); },
        api().ReleaseValue);
    const auto kind = owned<OrtTensorTypeAndShapeInfo>(
        [&](OrtTensorTypeAndShapeInfo** made) { return api().GetTensorTypeAndShape(result.get(), made); },
        api().ReleaseTensorTypeAndShapeInfo);
    ONNXTensorElementDataType type{};
    check(api().GetTensorElementType(kind.get(), &type));
    if (type != ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT)
      throw std::runtime_error("expected a layer of 32-bit floating-point values, found another type");
    std::size_t dimensions = 0, count = 0;
    check(api().GetDimensionsCount(kind.get(), &dimensions));
    std::vector<std::int64_t> sizes(dimensions);
    check(api().GetDimensions(kind.get(), sizes.data(), dimensions));
    check(api().GetTensorShapeElementCount(kind.get(), &count));
    void* values = nullptr;
    check(api().GetTensorMutableData(result.get(), &values));
    pool_positions({static_cast<const float*>(values), count}, sizes, options_.maxima, features);
  }

 private:
  EngineOptions options_;
  Owned<OrtEnv> environment_;
  Owned<OrtMemoryInfo> memory_;
  Owned<OrtSession> session_;
};

}  // namespace

std::unique_ptr<Engine> open_onnxruntime_engine(const std::string& network, const EngineOptions& options) {
  if (options.layer_is_output) return std::make_unique<OnnxRuntimeEngine>(network, options);
  return std::make_unique<OnnxRuntimeEngine>(network + output_to_append(options.layer, false), options);
}

void prepare_onnxruntime() {
  OrtEnv* environment = nullptr;
  check(api().CreateEnv(ORT_LOGGING_LEVEL_FATAL, "parsnets", &environment));  // stays: later ones share it
}

std::string onnxruntime_name() { return std::string("ONNX Runtime ") + OrtGetApiBase()->GetVersionString(); }

}  // namespace parsnets
