#pragma once
// A folder of photographs as a data set. Features stay in the user's cache folder, by the content of the photographs.

#include <filesystem>

#include "backbone_module.hpp"
#include "command.hpp"
#include "images/extraction.hpp"

namespace parsnets::cli {

/// Whether a folder has photographs in folders of their classes, and is no data set.
bool holds_photographs(const std::filesystem::path& folder);

/// The data set folder of these photographs, whose features are extracted where the cache lacks them. `classes`: table
/// of classes; empty: classes.csv or attributes.csv among the photographs, or else what was given before.
std::filesystem::path data_of_photographs(const std::filesystem::path& folder, const std::filesystem::path& classes,
                                          const OpenedBackbone& opened, const BackboneChoice& choice, Context& context);

}  // namespace parsnets::cli
