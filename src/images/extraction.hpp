#pragma once
// From photographs to a data set folder: features, labels, names of the image files.

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "images/image_header.hpp"
#include "images/image_list.hpp"
#include "parsnets/backbone.hpp"
#include "parsnets/progress.hpp"
#include "parsnets/threads.hpp"

namespace parsnets {

struct ExtractionOptions {
  std::filesystem::path attributes;  ///< table of classes; empty: that of the folder, if it has one
  ImageLimits limits;                ///< photographs beyond them are not read
  std::uint64_t memory_limit = 0;    ///< bytes of the process; 0: none
};

struct Extraction {
  std::size_t images = 0;               ///< rows of features
  std::size_t continued = 0;            ///< of them from an earlier run
  std::size_t dimensions = 0;           ///< columns
  std::vector<std::string> classes;     ///< of the data set: those of the table of attributes, or with images
  std::vector<std::string> unreadable;  ///< one message each, in the order of the list
  std::vector<std::string> classes_without_images;  ///< that had some, none of them readable, or an empty folder
  bool has_labels = false, has_attributes = false;
};

/// Throws bad_input unless the table has a row for every class of the list; before long work.
void check_attributes(const std::filesystem::path& table, const ImageList& list);

/// Runs `backbone` over the list and writes a plain data set folder: features.npy, labels.npy (or labels.csv with class
/// names, without attributes), image_files.csv, attributes.csv, extraction.json. The
/// features of finished photographs are in extraction.partial until all are done: when cancelled or interrupted, the
/// same call continues, and the result has the same bytes. Images that cannot be read are left out; throws bad_input
/// when none can, and failure when memory is short. Throws usage when the folder has a data set already, or when
/// `memory_limit` is too low.
Extraction extract_features(Backbone& backbone, const FeatureSource& source, const ImageList& list,
                            const std::filesystem::path& folder, const ExtractionOptions& options, ThreadPool& pool,
                            ProgressObserver* progress = nullptr);

}  // namespace parsnets
