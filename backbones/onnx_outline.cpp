#include "onnx_outline.hpp"

#include <algorithm>
#include <set>
#include <stdexcept>
#include <string_view>

#include "parsnets/error.hpp"

namespace parsnets {

namespace {

struct Damaged : std::runtime_error {
  Damaged() : std::runtime_error("damaged") {}
};

/// The fields of one message in protobuf's wire format.
class Message {
 public:
  explicit Message(std::string_view bytes) : rest_(bytes) {}

  /// Calls field(number, value, bytes) for each: `bytes` for those with a length, `value` for the numbers.
  template <class Field>
  void for_each(Field field) {
    while (!rest_.empty()) {
      const std::uint64_t tag = number();
      const std::uint64_t at = tag >> 3;
      switch (tag & 7) {
        case 0: field(at, number(), std::string_view()); break;
        case 1: skip(8); break;
        case 2: {
          const std::uint64_t length = number();
          field(at, std::uint64_t{0}, skip(length));
          break;
        }
        case 5: skip(4); break;
        default: throw Damaged();
      }
    }
  }

 private:
  std::uint64_t number() {
    std::uint64_t value = 0;
    for (unsigned shift = 0; shift < 70; shift += 7) {
      const auto byte = static_cast<unsigned char>(skip(1)[0]);
      if (shift < 64) value |= static_cast<std::uint64_t>(byte & 0x7f) << shift;
      if (byte < 0x80) return value;
    }
    throw Damaged();
  }
  std::string_view skip(std::uint64_t count) {
    if (count > rest_.size()) throw Damaged();
    const std::string_view bytes = rest_.substr(0, count);
    rest_.remove_prefix(count);
    return bytes;
  }

  std::string_view rest_;
};

// Numbers of fields in onnx.proto.
enum ModelField : std::uint64_t { kGraph = 7 };
constexpr std::string_view kUsualStart = "\x08";  // the version of the format comes first
enum GraphField : std::uint64_t { kNode = 1, kInitializer = 5, kInput = 11, kOutput = 12 };
enum TensorField : std::uint64_t { kName = 8, kDataLocation = 14 };
constexpr std::uint64_t kInOtherFile = 1;

/// The parts below a field of a message, one level after the other.
std::vector<std::string_view> below(std::string_view bytes, std::initializer_list<std::uint64_t> path) {
  std::vector<std::string_view> found{bytes};
  for (const std::uint64_t wanted : path) {
    std::vector<std::string_view> parts;
    for (const auto part : found)
      Message(part).for_each([&](std::uint64_t at, std::uint64_t, std::string_view inner) {
        if (at == wanted) parts.push_back(inner);
      });
    found = std::move(parts);
  }
  return found;
}

std::string text_of(std::string_view bytes, std::uint64_t field) {
  const auto found = below(bytes, {field});
  return found.empty() ? "" : std::string(found.back());
}

OnnxOutline::Input input_of(std::string_view bytes) {
  OnnxOutline::Input input{text_of(bytes, 1), {}};
  for (const auto dimension : below(bytes, {2, 1, 2, 1})) {  // type, tensor_type, shape, dim
    std::int64_t size = 0;
    Message(dimension).for_each([&](std::uint64_t at, std::uint64_t value, std::string_view) {
      if (at == 1 && value < (std::uint64_t{1} << 31)) size = static_cast<std::int64_t>(value);
    });
    input.shape.push_back(size);
  }
  return input;
}

std::string joined(const std::vector<std::string>& names) {
  std::string text;
  for (std::size_t i = 0; i < std::min<std::size_t>(8, names.size()); ++i) text += (i == 0 ? "" : ", ") + names[i];
  if (names.size() > 8) text += " and " + std::to_string(names.size() - 8) + " more";
  return text.empty() ? "none" : text;
}

std::string shape_text(const std::vector<std::int64_t>& shape) {
  std::string text;
  for (const auto size : shape) text += (text.empty() ? "" : " x ") + (size == 0 ? "any" : std::to_string(size));
  return text.empty() ? "a single value" : text;
}

}  // namespace

std::string read_outline(std::span<const std::byte> file, OnnxOutline& outline) {
  outline = {};
  const std::string_view bytes(reinterpret_cast<const char*>(file.data()), file.size());
  try {
    std::set<std::string> weights;
    std::string elsewhere;  // weights that are not in the file
    for (const auto graph : below(bytes, {kGraph}))
      Message(graph).for_each([&](std::uint64_t at, std::uint64_t, std::string_view part) {
        if (at == kInput) outline.inputs.push_back(input_of(part));
        if (at == kOutput) {
          outline.outputs.push_back(text_of(part, 1));
          if (outline.without_shape.empty() && below(part, {2, 1, 2}).empty())  // type, tensor_type, shape
            outline.without_shape = outline.outputs.back();
        }
        if (at == kInitializer) {
          weights.insert(text_of(part, kName));
          Message(part).for_each([&](std::uint64_t field, std::uint64_t value, std::string_view) {
            if (field == kDataLocation && value == kInOtherFile) elsewhere = text_of(part, kName);
          });
        }
        if (at != kNode) return;
        const auto given = below(part, {1});
        for (const auto value : below(part, {2})) {
          outline.values.emplace_back(value);
          outline.made_by[outline.values.back()] = {text_of(part, 4), given.empty() ? "" : std::string(given.front())};
        }
      });
    if (!elsewhere.empty())
      return "expected a network with its weights, found those of '" + elsewhere +
             "' in another file; save the network as one file";
    std::erase_if(outline.inputs, [&](const auto& input) { return weights.contains(input.name); });
  } catch (const Damaged&) {
    outline = {};
    return bytes.starts_with(kUsualStart) ? "expected an ONNX network, found a damaged one"
                                          : "expected an ONNX network, found another kind of file";
  }
  if (bytes.empty()) return "expected an ONNX network, found an empty file";
  if (outline.values.empty() || outline.outputs.empty()) return "expected an ONNX network, found no operators";
  return "";
}

std::string OnnxOutline::choose(std::string& layer) const {
  if (layer.empty()) layer = outputs.back();
  if (std::ranges::count(outputs, layer) + std::ranges::count(values, layer) > 0) return "";
  return "expected a layer of the network, found '" + layer + "'; the layer in the preprocessing file NAME.json" +
         " is one of its outputs: " + joined(outputs) + "; or of its last layers: " +
         joined({values.end() - static_cast<std::ptrdiff_t>(std::min<std::size_t>(8, values.size())), values.end()});
}

std::string OnnxOutline::before_average(const std::string& layer) const {
  static const std::set<std::string> averages{"GlobalAveragePool", "ReduceMean"},
      shapes{"Flatten", "Reshape", "Squeeze", "Identity", "Dropout"};
  std::string value = layer;
  for (std::size_t steps = 0; steps <= made_by.size(); ++steps) {  // a damaged file may have circles
    const auto maker = made_by.find(value);
    if (maker == made_by.end()) break;
    if (averages.contains(maker->second.kind)) return maker->second.input.empty() ? layer : maker->second.input;
    if (!shapes.contains(maker->second.kind)) break;
    value = maker->second.input;
  }
  return made_by.contains(value) ? value : layer;
}

std::string OnnxOutline::check_input(std::size_t width, std::size_t height) const {
  if (inputs.size() != 1) return "expected a network with one input, found " + std::to_string(inputs.size());
  const auto& shape = inputs.front().shape;
  if (shape.empty()) return "";  // the engine finds out
  const auto fits = [](std::int64_t size, std::size_t wanted) {
    return size == 0 || static_cast<std::size_t>(size) == wanted;
  };
  if (shape.size() == 4 && fits(shape[0], 1) && fits(shape[1], 3) && fits(shape[2], height) && fits(shape[3], width))
    return "";
  std::string problem = "the network takes " + shape_text(shape) +
                        " (batch x channels x height x width), found an input of 1 x 3 x " + std::to_string(height) +
                        " x " + std::to_string(width);
  if (shape.size() == 4 && fits(shape[0], 1) && fits(shape[1], 3))
    problem += "; give its size in the preprocessing file NAME.json beside it";
  return problem;
}

std::string output_to_append(const std::string& value, bool with_empty_shape) {
  const auto field = [](std::uint64_t number, const std::string& content) {
    std::string bytes(1, static_cast<char>(number << 3 | 2));
    for (std::uint64_t length = content.size(); bytes.size() < 12; length >>= 7) {
      bytes += static_cast<char>((length & 0x7f) | (length >= 0x80 ? 0x80 : 0));
      if (length < 0x80) break;
    }
    return bytes + content;
  };
  const std::string floats("\x08\x01\x12\x00", with_empty_shape ? 4 : 2);  // element type 1, shape of no dimensions
  const std::string type = field(2, field(1, floats));
  return field(kGraph, field(kOutput, field(1, value) + type));
}

}  // namespace parsnets
