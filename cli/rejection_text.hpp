#pragma once
// What calibration for unknown samples reached, as 'calibrate', 'train' and 'info' tell it.

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "parsnets/train_record.hpp"

namespace parsnets::cli {

inline nlohmann::ordered_json rejection_json(const RejectionRecord& r) {
  return {{"folds", r.folds},
          {"classes", r.classes},
          {"samples", r.samples},
          {"false_accept", r.false_accept},
          {"accepted", r.accepted},
          {"accept_interval", {r.accept_low, r.accept_high}},
          {"rejected_seen", r.rejected_seen},
          {"rejected_unseen", r.rejected_unseen},
          {"auroc", r.auroc},
          {"confidence_auroc", r.confidence_auroc}};
}

inline std::string rejection_text(const RejectionRecord& r) {
  std::string text = fmt::format(
      "accepts {:.1f} % of unknown samples (target: {:g} %; 95 % interval over {} held-out classes: {:.1f} to {:.1f} "
      "%)\nprice: rejects {:.1f} % of the samples of seen",
      r.accepted, r.false_accept, r.classes, r.accept_low, r.accept_high, r.rejected_seen);
  if (r.rejected_unseen > 0) text += fmt::format(" and {:.1f} % of those of unseen", r.rejected_unseen);
  return text + fmt::format(" classes\nAUROC of known against unknown samples: {:.2f} (confidence alone: {:.2f})\n",
                            r.auroc, r.confidence_auroc);
}

}  // namespace parsnets::cli
