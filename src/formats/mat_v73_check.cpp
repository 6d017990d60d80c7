// A check of HDF5 metadata before libhdf5 sees it. libhdf5 1.10 trusts many lengths inside object headers, B-trees and
// heaps of the old format, which has no checksums, and reads past its buffers when they are wrong. Structures of the
// new format (fractal heaps, version 2 B-trees) have checksums and are left to it.
//
// Layouts: "HDF5 File Format Specification Version 3.0", chapters II to IV.

#include "formats/mat_v73_check.hpp"

#include <algorithm>
#include <cstring>
#include <memory>

#include "base/checked.hpp"
#include "formats/mat_common.hpp"

namespace parsnets::mat {

/// `n` rounded up to whole words of 8 bytes.
static std::uint64_t round_up(std::uint64_t n) { return (n + 7) / 8 * 8; }

/// Little-endian numbers from a piece of HDF5 metadata. Throws through `check` where the bytes end too soon.
class Hdf5Check::Cursor {
 public:
  Cursor(const Hdf5Check& check, std::vector<unsigned char> bytes)
      : check_(&check),
        bytes_(std::make_shared<const std::vector<unsigned char>>(std::move(bytes))),
        at_(bytes_->data()),
        left_(bytes_->size()) {}

  std::uint64_t number(unsigned width) {
    need(width);
    std::uint64_t value = 0;
    for (unsigned i = width; i-- > 0;) value = value << 8 | at_[i];
    skip(width);
    return value;
  }
  unsigned u8() { return static_cast<unsigned>(number(1)); }
  unsigned u16() { return static_cast<unsigned>(number(2)); }
  std::uint64_t u32() { return number(4); }
  std::uint64_t u64() { return number(8); }
  void skip(std::uint64_t count) {
    need(count);
    at_ += count;
    left_ -= count;
  }
  Cursor part(std::uint64_t count) {
    Cursor out = *this;
    skip(count);
    out.left_ = count;
    return out;
  }
  // Past a NUL-terminated text, which is padded to 8 bytes if told.
  void text(bool padded) {
    const void* end = left_ == 0 ? nullptr : std::memchr(at_, 0, left_);
    if (end == nullptr) check_->damaged("null-terminated text", "no terminator");
    const auto length = static_cast<std::uint64_t>(static_cast<const unsigned char*>(end) - at_) + 1;
    skip(padded ? round_up(length) : length);
  }
  void expect(std::string_view signature) {
    need(signature.size());
    if (std::memcmp(at_, signature.data(), signature.size()) != 0)
      check_->damaged("'" + std::string(signature) + "'", "other bytes");
    skip(signature.size());
  }
  bool starts_with(std::string_view signature) const {
    return left_ >= signature.size() && std::memcmp(at_, signature.data(), signature.size()) == 0;
  }
  std::uint64_t left() const { return left_; }
  unsigned char at(std::uint64_t i) const { return at_[i]; }

 private:
  void need(std::uint64_t count) const {
    if (count > left_) check_->damaged(std::to_string(count) + " more bytes", std::to_string(left_));
  }

  const Hdf5Check* check_;
  std::shared_ptr<const std::vector<unsigned char>> bytes_;
  const unsigned char* at_;
  std::uint64_t left_;
};

constexpr std::uint64_t kUndefined = ~0ull;
constexpr int kMaxDepth = 8;
constexpr unsigned kMaxRank = 32;

// Messages of object headers.
constexpr unsigned kDataspace = 0x01, kLinkInfo = 0x02, kDatatype = 0x03, kOldFill = 0x04, kFill = 0x05, kLink = 0x06,
                   kLayout = 0x08, kFilters = 0x0b, kAttribute = 0x0c, kComment = 0x0d, kOldTime = 0x0e,
                   kContinuation = 0x10, kSymbolTable = 0x11, kTime = 0x12, kAttributeInfo = 0x15,
                   kReferenceCount = 0x16;

void Hdf5Check::damaged(std::string expected, std::string found) const {
  refuse(file_.name(), label_, std::move(expected), std::move(found));
}

void Hdf5Check::too_new(const std::string& what) const {
  refuse(file_.name(), label_, "HDF5 structures as MATLAB writes them", what,
         "save it with HDF5's earliest format and without named types");
}

void Hdf5Check::take(std::uint64_t bytes) {
  if (bytes > *budget_) damaged("HDF5 structures that do not overlap", "more than the file holds");
  *budget_ -= bytes;
}

std::vector<unsigned char> Hdf5Check::bytes(std::uint64_t address, std::uint64_t count) {
  const std::uint64_t room = file_.size() - base_;
  if (address > room || count > room - address)
    damaged("HDF5 structures inside the file", std::to_string(count) + " bytes at " + std::to_string(address));
  take(count);
  std::vector<unsigned char> out(count);
  file_.seek(base_ + address);
  file_.read(out.data(), out.size(), label_);
  return out;
}

Hdf5Check::Hdf5Check(InputFile& file) : file_(file), label_("HDF5 header"), whole_(file.size()) {
  constexpr std::string_view kSignature = "\x89HDF\r\n\x1a\n";
  const auto signed_here = [&] {
    std::array<char, 8> raw{};
    file_.seek(base_);
    file_.read(raw.data(), raw.size(), label_);
    return std::string_view(raw.data(), raw.size()) == kSignature;
  };
  while (!signed_here()) base_ = base_ == 0 ? 512 : base_ * 2;

  Cursor in(*this, bytes(0, std::min<std::uint64_t>(file_.size() - base_, 128)));
  in.skip(kSignature.size());
  const unsigned version = in.u8();
  if (version > 3) damaged("an HDF5 superblock of version 0 to 3", std::to_string(version));
  if (version < 2) in.skip(4);
  const unsigned offset_bytes = in.u8(), length_bytes = in.u8();
  if (offset_bytes != 8 || length_bytes != 8)
    damaged("HDF5 offsets and lengths of 8 bytes",
            std::to_string(offset_bytes) + " and " + std::to_string(length_bytes));
  in.skip(1);
  std::uint64_t root = 0;
  if (version < 2) {
    leaf_k_ = in.u16();
    group_k_ = in.u16();
    in.skip(4);
    if (version == 1) {
      chunk_k_ = in.u16();
      in.skip(2);
    }
    if (leaf_k_ == 0 || group_k_ == 0 || chunk_k_ == 0) damaged("B-trees with room for entries", "none");
  }
  if (const auto stated = in.u64(); stated != base_)
    damaged("an HDF5 base address of " + std::to_string(base_), std::to_string(stated));
  in.skip(8);  // free space, or the superblock's extension
  if (const auto end = in.u64(); end > file_.size())
    damaged(std::to_string(end) + " bytes", "a file of " + std::to_string(file_.size()));
  if (version < 2) {
    if (in.u64() != kUndefined) damaged("an HDF5 file without a driver block", "one");
    in.skip(8);
    root = in.u64();
    const auto cached = in.u32();
    in.skip(4);
    if (cached == 1) {
      const auto tree_address = in.u64();
      symbol_table(tree_address, in.u64());
    } else if (cached != 0) {
      damaged("an HDF5 root group", "an entry of type " + std::to_string(cached));
    }
  } else {
    root = in.u64();
  }
  object(root, "list of variables");
}

void Hdf5Check::object(std::uint64_t address, std::string_view label, std::vector<ChunkPlace>* found,
                       std::uint64_t* budget) {
  label_ = label;
  found_ = found;
  whole_ = file_.size();
  budget_ = budget != nullptr ? budget : &whole_;
  Cursor in(*this, bytes(address, 16));
  if (in.starts_with("OHDR")) {
    in.skip(4);
    if (in.u8() != 2) damaged("an HDF5 object header of version 2", "another version");
    const unsigned flags = in.u8();
    const std::uint64_t prefix = 6 + ((flags & 0x20) != 0 ? 16 : 0) + ((flags & 0x10) != 0 ? 4 : 0);
    const unsigned width = 1u << (flags & 3);
    const std::uint64_t size = Cursor(*this, bytes(address + prefix, width)).number(width);
    messages(bytes(address + prefix + width, size), true, (flags & 4) != 0, 0);
    return;
  }
  if (in.u8() != 1) damaged("an HDF5 object header", "other bytes");
  in.skip(1);
  const unsigned count = in.u16();
  in.skip(4);
  messages(bytes(address + 16, in.u32()), false, false, count);
}

std::vector<ChunkPlace> Hdf5Check::chunks(std::uint64_t address, std::string_view label) {
  std::vector<ChunkPlace> found;
  object(address, label, &found);
  std::ranges::sort(found, {}, &ChunkPlace::at);
  return found;
}

// All messages of a header. Those of version 1 are `limit` in number; of version 2 they fill their chunks, which end in
// a checksum that libhdf5 compares.
void Hdf5Check::messages(std::vector<unsigned char> chunk, bool second_version, bool with_order, std::uint64_t limit) {
  const std::uint64_t head = second_version ? 4 + (with_order ? 2 : 0) : 8;
  std::vector<std::vector<unsigned char>> chunks{std::move(chunk)};
  std::uint64_t count = 0;
  for (std::size_t i = 0; i < chunks.size(); ++i) {
    Cursor in(*this, std::move(chunks[i]));
    if (second_version && i > 0) {
      in.expect("OCHK");
      if (in.left() < 4) damaged("a checksum", "none");
      in = in.part(in.left() - 4);
    }
    while (in.left() >= head && in.left() > 0) {
      const unsigned type = second_version ? in.u8() : in.u16();
      const std::uint64_t size = in.u16();
      const unsigned flags = in.u8();
      in.skip(second_version ? head - 4 : 3);
      if (!second_version && size % 8 != 0)
        damaged("messages in multiples of 8 bytes", std::to_string(size) + " bytes");
      Cursor body = in.part(size);
      ++count;
      if (type == kContinuation) {
        const std::uint64_t address = body.u64();
        chunks.push_back(bytes(address, body.u64()));
      } else {
        message(type, flags, body);
      }
    }
    if (!second_version && in.left() != 0) damaged("whole messages", std::to_string(in.left()) + " bytes left");
  }
  if (!second_version && count != limit)
    damaged(std::to_string(limit) + " messages in an object header", std::to_string(count));
}

void Hdf5Check::message(unsigned type, unsigned flags, Cursor body) {
  static constexpr std::array kShareable{kDataspace, kDatatype, kOldFill, kFill, kFilters, kAttribute};
  if ((flags & 2) != 0 && std::find(kShareable.begin(), kShareable.end(), type) != kShareable.end())
    too_new("a shared HDF5 message");
  switch (type) {
    case kDataspace: dataspace(body); break;
    case kDatatype: datatype(body, 0); break;
    case kOldFill:
    case kFill: fill(type, body); break;
    case kLayout: layout(body); break;
    case kFilters: filters(body); break;
    case kAttribute: attribute(body); break;
    case kComment: body.text(false); break;
    case kOldTime: body.skip(16); break;
    case kTime: body.skip(8); break;
    case kReferenceCount: body.skip(5); break;
    case kSymbolTable: {
      const auto tree_address = body.u64();
      symbol_table(tree_address, body.u64());
      break;
    }
    case kLinkInfo:
    case kAttributeInfo: {
      body.skip(1);
      const bool with_order = (body.u8() & 1) != 0;
      body.skip(!with_order ? 0 : type == kLinkInfo ? 8 : 2);
      if (body.u64() != kUndefined)
        too_new(type == kLinkInfo ? "a group in dense storage" : "attributes in dense storage");
      break;
    }
    case kLink: {
      body.skip(1);
      const unsigned bits = body.u8();
      const unsigned kind = (bits & 8) != 0 ? body.u8() : 0;
      body.skip(((bits & 4) != 0 ? 8 : 0) + ((bits & 16) != 0 ? 1 : 0));
      body.skip(body.number(1u << (bits & 3)));
      body.skip(kind == 0 ? 8 : body.u16());
      break;
    }
    default:  // of no use here; libhdf5 reads them with their length or not at all
      break;
  }
}

std::uint64_t Hdf5Check::dataspace(Cursor& in) {
  const unsigned version = in.u8(), rank = in.u8(), flags = in.u8();
  if (version < 1 || version > 2 || rank > kMaxRank || (flags & 2) != 0)
    damaged("a valid HDF5 dataspace", "an invalid one");
  in.skip(version == 1 ? 5 : 1);
  std::uint64_t values = 1;
  for (unsigned i = 0; i < rank; ++i) {
    const auto product = checked_mul(values, in.u64());
    if (!product) damaged("fewer values", "an overflow");
    values = *product;
  }
  if ((flags & 1) != 0) in.skip(std::uint64_t{8} * rank);
  return values;
}

std::uint64_t Hdf5Check::datatype(Cursor& in, int depth) {
  if (depth > kMaxDepth) damaged("less deeply nested types", "deep nesting");
  const unsigned first = in.u8();
  const unsigned kind = first & 15, version = first >> 4;
  const auto bits = in.number(3);
  const std::uint64_t type_size = in.u32();
  if (version < 1 || version > 3 || type_size == 0) damaged("a valid HDF5 datatype", "an invalid one");
  const std::uint64_t width = 8 * type_size;
  const auto within = [&](std::uint64_t from, std::uint64_t count, std::uint64_t limit) {
    if (count == 0 || count > limit || from > limit - count)
      damaged("bit fields inside the type", "bit fields outside it");
  };
  switch (kind) {
    case 0:    // integer
    case 4: {  // bit field
      const auto offset = in.u16();
      within(offset, in.u16(), width);
      break;
    }
    case 1: {  // float
      const auto offset = in.u16(), precision = in.u16();
      const auto exponent_at = in.u8(), exponent = in.u8(), mantissa_at = in.u8(), mantissa = in.u8();
      in.skip(4);
      within(offset, precision, width);
      within(exponent_at, exponent, precision);
      within(mantissa_at, mantissa, precision);
      within(bits >> 8 & 0xff, 1, precision);
      break;
    }
    case 2: in.skip(2); break;            // time
    case 3: break;                        // string
    case 5: in.skip(bits & 0xff); break;  // opaque
    case 6: {                             // compound
      const std::uint64_t members = bits & 0xffff;
      unsigned offset_width = 4;
      if (version == 3)
        for (offset_width = 1; offset_width < 4 && type_size >> (8 * offset_width) != 0;) ++offset_width;
      for (std::uint64_t i = 0; i < members; ++i) {
        in.text(version < 3);
        const std::uint64_t offset = in.number(offset_width);
        std::uint64_t copies = 1;
        if (version == 1) {
          const unsigned rank = in.u8();
          in.skip(11);
          if (rank > 4) damaged("a member of at most 4 dimensions", std::to_string(rank));
          for (unsigned k = 0; k < 4; ++k) {
            const auto d = in.u32();
            if (k < rank) copies = checked_mul(copies, d).value_or(kUndefined);
          }
        }
        const auto size = checked_mul(datatype(in, depth + 1), copies);
        if (!size || *size > type_size || offset > type_size - *size)
          damaged("members inside the type", "members outside it");
      }
      break;
    }
    case 7: break;  // reference
    case 8: {       // enumeration
      const std::uint64_t base = datatype(in, depth + 1);
      for (std::uint64_t i = 0; i < (bits & 0xffff); ++i) in.text(version < 3);
      if (base != type_size) damaged("an enumeration of its base type's size", "another size");
      in.skip((bits & 0xffff) * base);
      break;
    }
    case 9:  // variable length
      datatype(in, depth + 1);
      if (type_size != 16) damaged("16 bytes for a variable length", std::to_string(type_size));
      break;
    case 10: {  // array
      const unsigned rank = in.u8();
      if (rank == 0 || rank > kMaxRank) damaged("an array of 1 to 32 dimensions", std::to_string(rank));
      if (version < 3) in.skip(3);
      std::optional<std::uint64_t> count = 1;
      for (unsigned i = 0; i < rank; ++i) count = checked_mul(count.value_or(kUndefined), in.u32());
      if (version < 3) in.skip(std::uint64_t{4} * rank);
      const auto size = checked_mul(datatype(in, depth + 1), count.value_or(kUndefined));
      if (!size || *size != type_size) damaged("an array as large as its elements", "another size");
      break;
    }
    default: damaged("an HDF5 datatype of class 0 to 10", std::to_string(kind));
  }
  return type_size;
}

void Hdf5Check::attribute(Cursor in) {
  const unsigned version = in.u8(), flags = in.u8();
  if (version < 1 || version > 3) damaged("an HDF5 attribute of version 1 to 3", std::to_string(version));
  if (version > 1 && (flags & 3) != 0) damaged("an attribute with its own type", "a shared one");
  const std::uint64_t name = in.u16(), type_bytes = in.u16(), space_bytes = in.u16();
  if (version == 3) in.skip(1);
  const auto padded = [&](std::uint64_t n) { return version == 1 ? round_up(n) : n; };
  const Cursor text = in.part(padded(name));
  if (name == 0 || text.at(name - 1) != 0) damaged("a null-terminated attribute name", "no terminator");
  Cursor type_part = in.part(padded(type_bytes)), space_part = in.part(padded(space_bytes));
  const auto size = checked_mul(datatype(type_part, 0), dataspace(space_part));
  if (!size || *size > in.left()) damaged("an attribute's value", std::to_string(in.left()) + " bytes");
}

void Hdf5Check::fill(unsigned type, Cursor in) {
  if (type == kOldFill) return in.skip(in.u32());
  const unsigned version = in.u8();
  if (version < 1 || version > 3) damaged("an HDF5 fill value of version 1 to 3", std::to_string(version));
  bool present = false;
  if (version == 3) {
    present = (in.u8() & 0x20) != 0;
  } else {
    in.skip(2);
    present = in.u8() != 0 || version == 1;
  }
  if (!present) return;
  const auto size = in.u32();
  if (size < 0x80000000u) in.skip(size);  // negative: undefined
}

void Hdf5Check::filters(Cursor in) {
  const unsigned version = in.u8(), count = in.u8();
  if (version < 1 || version > 2 || count > 32) damaged("a valid HDF5 filter list", "an invalid one");
  if (version == 1) in.skip(6);
  for (unsigned i = 0; i < count; ++i) {
    const unsigned id = in.u16();
    const std::uint64_t name = version == 1 || id >= 256 ? in.u16() : 0;
    in.skip(2);
    const std::uint64_t values = in.u16();
    in.skip(version == 1 ? round_up(name) : name);
    in.skip(4 * values + (version == 1 && values % 2 != 0 ? 4 : 0));
  }
}

void Hdf5Check::layout(Cursor in) {
  const unsigned version = in.u8();
  if (version < 1 || version > 4) damaged("an HDF5 layout of version 1 to 4", std::to_string(version));
  unsigned rank = 0;
  if (version < 3) rank = in.u8();
  const unsigned kind = in.u8();
  if (version < 3) in.skip(5);
  if (kind == 2 && version == 4) too_new("a chunk index of HDF5 1.10");
  if (kind == 2 && version == 3) rank = in.u8();
  if (kind > 2) too_new("a layout of class " + std::to_string(kind));
  if (rank > kMaxRank + 1 || (kind == 2 && rank < 2))
    damaged("chunks of 1 to 32 dimensions", std::to_string(rank) + " with the bytes");
  if (version >= 3 && kind == 0) return in.skip(in.u16());
  const std::uint64_t index = kind == 0 ? kUndefined : in.u64();
  if (version >= 3 && kind == 1) return in.skip(8);
  for (unsigned i = 0; i < rank; ++i)
    if (in.u32() == 0 && kind == 2) damaged("chunks of non-zero size", "size 0");
  if (kind == 0) in.skip(in.u32());
  if (kind == 2 && index != kUndefined) tree(index, 1, -1, 8 + 8 * rank, {});
}

void Hdf5Check::symbol_table(std::uint64_t tree_address, std::uint64_t heap_address) {
  Cursor in(*this, bytes(heap_address, 32));
  in.expect("HEAP");
  in.skip(4);
  const std::uint64_t size = in.u64(), first_free = in.u64();
  const auto names = bytes(in.u64(), size);
  // libhdf5 follows the list of free blocks: each starts with the offset of the next (1 ends the list) and its size.
  std::uint64_t blocks = 0;
  for (std::uint64_t free = first_free; free != 1 && free != kUndefined; ++blocks) {
    if (names.size() < 16 || free > names.size() - 16 || blocks > names.size() / 16)
      damaged("free blocks inside the heap of names", "blocks outside it");
    Cursor block(*this, {names.data() + free, names.data() + free + 16});
    const std::uint64_t next = block.u64(), length = block.u64();
    if (length < 16 || length > names.size() - free)
      damaged("free blocks inside the heap of names", "blocks outside it");
    free = next;
  }
  names_left_ = 2 * names.size();  // an entry may have that of its target, too
  tree(tree_address, 0, -1, 8, names);
}

// A version 1 B-tree: of groups (kind 0, whose leaves are symbol nodes) or of chunks (kind 1).
void Hdf5Check::tree(std::uint64_t address, unsigned kind, int parent_level, std::uint64_t key_bytes,
                     const std::vector<unsigned char>& names) {
  Cursor in(*this, bytes(address, 24));
  in.expect("TREE");
  const unsigned found_kind = in.u8();
  const int level = static_cast<int>(in.u8());
  const std::uint64_t entries = in.u16();
  const std::uint64_t most = 2ull * (kind == 0 ? group_k_ : chunk_k_);
  if (found_kind != kind || entries > most || (parent_level >= 0 && level != parent_level - 1))
    damaged("a valid HDF5 B-tree", "an invalid one");
  Cursor items(*this, bytes(address + 24, entries * (key_bytes + 8) + key_bytes));
  for (std::uint64_t i = 0; i <= entries; ++i) {
    Cursor key = items.part(key_bytes);
    const std::uint64_t first = kind == 0 ? key.u64() : key.u32();
    if (kind == 0 && first != 0 && first >= names.size()) damaged("names inside their heap", "names outside it");
    if (i == entries) break;
    const std::uint64_t child = items.u64();
    if (level > 0) {
      tree(child, kind, level, key_bytes, names);
    } else if (kind == 0) {
      symbols(child, names);
    } else {
      const std::uint64_t room = file_.size() - base_;
      if (child > room || first > room - child) damaged("chunks inside the file", "chunks outside it");
      take(first);
      if (found_ == nullptr) continue;
      const std::uint64_t rank = key_bytes / 8 - 2;
      if (rank > 2) damaged("chunks of at most 2 dimensions", std::to_string(rank));
      ChunkPlace place{{0, 0}, base_ + child, first, static_cast<std::uint32_t>(key.u32())};
      for (std::uint64_t d = 0; d < rank; ++d) place.at[2 - rank + d] = key.u64();
      found_->push_back(place);
    }
  }
}

void Hdf5Check::symbols(std::uint64_t address, const std::vector<unsigned char>& names) {
  Cursor in(*this, bytes(address, 8));
  in.expect("SNOD");
  in.skip(2);
  const std::uint64_t count = in.u16();
  if (count > 2ull * leaf_k_) damaged("at most " + std::to_string(2 * leaf_k_) + " symbols", std::to_string(count));
  Cursor entries(*this, bytes(address + 8, count * 40));
  for (std::uint64_t i = 0; i < count; ++i) {
    const std::uint64_t name = entries.u64();
    entries.skip(8);
    const auto cached = entries.u32();
    entries.skip(4);
    const std::uint64_t target = entries.u32();
    entries.skip(12);
    for (const std::uint64_t offset : {name, cached == 2 ? target : name}) {
      const void* end = offset < names.size() ? std::memchr(names.data() + offset, 0, names.size() - offset) : nullptr;
      if (end == nullptr || cached > 2) damaged("names inside their heap", "names outside it");
      // Names of their own lie beside each other: one for all would be copied for each.
      const auto length = static_cast<std::uint64_t>(static_cast<const unsigned char*>(end) - names.data()) - offset;
      if (length > names_left_) damaged("names that do not overlap", "more than their heap holds");
      names_left_ -= length;
    }
  }
}

}  // namespace parsnets::mat
