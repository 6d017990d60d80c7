#pragma once
// A variable of the environment that is as it was when the object ends.

#include <cstdlib>
#include <optional>
#include <string>

namespace parsnets::test {

class EnvironmentVariable {
 public:
  /// No value: the variable is absent.
  EnvironmentVariable(std::string name, const std::optional<std::string>& value) : name_(std::move(name)) {
    if (const char* found = std::getenv(name_.c_str())) before_ = found;
    set(value);
  }
  ~EnvironmentVariable() { set(before_); }
  EnvironmentVariable(const EnvironmentVariable&) = delete;
  EnvironmentVariable& operator=(const EnvironmentVariable&) = delete;

 private:
  void set(const std::optional<std::string>& value) const {
    value ? ::setenv(name_.c_str(), value->c_str(), 1) : ::unsetenv(name_.c_str());
  }

  std::string name_;
  std::optional<std::string> before_;
};

}  // namespace parsnets::test
