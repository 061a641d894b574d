// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "ir/ReadText.h"
#include "passes/profile/Readers.h"
#include "plan/limits.h"

using namespace mlir;
using namespace commsched::profile;

namespace {

/// The piece of the text that is item `index` of the list of numbers `key`.
StringRef findItem(StringRef text, StringRef key, size_t index) {
  StringRef rest = text.substr(text.find(("\"" + key + "\"").str()));
  rest = rest.substr(rest.find('[')).drop_front();
  for (size_t i = 0; i < index && rest.contains(','); ++i)
    rest = rest.split(',').second;
  return rest.ltrim();
}

} // namespace

FailureOr<Profile> commsched::profile::readKungfu(const ProfileText &text,
                                                  bool forwardOrder) {
  llvm::Expected<llvm::json::Value> json = parseJson(text.getText());
  if (!json)
    return emitError(text.atFile())
           << "profile must be JSON: " << llvm::toString(json.takeError());
  llvm::json::Object *object = json->getAsObject();
  llvm::json::Array *elements = object ? object->getArray("elements") : nullptr;
  if (!elements || elements->empty())
    return emitError(text.atFile())
           << "profile must be an object with a list \"elements\" that is not empty";
  Profile profile;
  for (size_t i = 0; i < elements->size(); ++i) {
    // Layers are in the order of the forward pass.
    size_t index = forwardOrder ? i : elements->size() - 1 - i;
    StringRef piece = findItem(text.getText(), "elements", index);
    std::optional<int64_t> count = (*elements)[index].getAsInteger();
    constexpr auto kMost = static_cast<int64_t>(kMaxTensorBytes / 4);
    if (!count || *count <= 0 || *count > kMost)
      return text.error(piece)
             << "item " << index << " of \"elements\" must be a number from 1 to 2^44";
    Layer layer("tensor" + std::to_string(index), text.at(piece));
    layer.parameters = {{"gradient" + std::to_string(index), {*count}}};
    if (i > 0)
      layer.uses = {{static_cast<unsigned>(i - 1), std::nullopt}};
    profile.push_back(std::move(layer));
  }
  return profile;
}
