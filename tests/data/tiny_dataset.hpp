#pragma once
// A data set for tests of files: 8 classes, each with samples, and 4 features.

#include "data/synth.hpp"

namespace parsnets::test {

inline Dataset tiny_dataset() {
  SynthOptions synth;
  synth.classes = 8;
  synth.samples = 80;
  synth.dimensions = 4;
  synth.hidden = 4;
  return synthesize(synth);
}

}  // namespace parsnets::test
