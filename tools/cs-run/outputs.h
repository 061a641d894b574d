// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Files that a run writes: whether they can be written, before it begins, and what
// becomes of the training if they cannot at its end.
#ifndef COMMSCHED_TOOLS_CS_RUN_OUTPUTS_H
#define COMMSCHED_TOOLS_CS_RUN_OUTPUTS_H

#include <functional>
#include <string>

#include "absl/status/status.h"
#include "tools/cs-run/options.h"

namespace commsched::run {

// Of this process's own file: that of rank 0 has the name that was given.
std::string OwnPath(const Options &options, const std::string &path);

// The first that cannot be written is named. `folder`: --checkpoint is one, and is
// looked at elsewhere.
absl::Status CheckOutputs(const Options &options, bool folder);

// Calls `save` with `path`, and if that fails with names of the same kind in the
// present folder and in those for temporary files, until one can be written. The
// error, which is returned all the same, says where that is.
absl::Status SaveOrElsewhere(const std::string &path, absl::string_view what,
                             const std::function<absl::Status(const std::string &)> &save);

// The folder `path` that `option` names, which is made unless it is there and can be written to.
absl::Status MakeFolder(absl::string_view option, const std::string &path);

}  // namespace commsched::run

#endif  // COMMSCHED_TOOLS_CS_RUN_OUTPUTS_H
