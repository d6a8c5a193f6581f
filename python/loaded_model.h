#pragma once

#include <memory>
#include <vector>

#include "arrays.h"
#include "headscope/model/model.h"

namespace headscope::python {

/// A model, and the arrays that contain its weights if they are not in a file.
struct LoadedModel {
  std::vector<ArrayIn> arrays;  // before the model: they must outlive it
  std::shared_ptr<const Model> model;
};

}  // namespace headscope::python
