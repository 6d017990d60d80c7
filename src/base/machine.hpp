#pragma once
// Information about the machine and the libraries this build runs with.

#include <cstdint>
#include <string>
#include <vector>

namespace parsnets {

struct LibraryFact {
  std::string name, version;
};

struct MachineInfo {
  std::string cpu, simd;               ///< model name; widest instruction set the processor has
  unsigned cores = 0;                  ///< that this process may use
  std::uint64_t memory = 0, free = 0;  ///< bytes, within the control group's limit
  std::string blas;                    ///< library, variant, kernel
  bool blas_optimised = false;         ///< false for a reference kernel
  std::vector<LibraryFact> libraries;
};

MachineInfo machine_info();

/// Peak resident memory of this process so far, in bytes.
std::uint64_t peak_memory();
/// Resident memory of this process now, in bytes.
std::uint64_t resident_memory();
/// The part of it that belongs to no file, in bytes; 0 where the system does not tell.
std::uint64_t anonymous_memory();

/// From here on BLAS runs in the thread that calls it: threads are ours.
void use_serial_blas();
/// False for builds of OpenBLAS without locks (Debian's -serial): called from two threads at once they give wrong
/// products.
bool blas_is_thread_safe();

}  // namespace parsnets
