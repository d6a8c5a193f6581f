#include "headscope/model/family.h"
#include "model/t5_layout.h"

namespace headscope::families {

// mT5 with a bias by distance in every layer.
Family umt5() {
  Family family = t5_family();
  family.name = "umt5";
  family.model_types = {"umt5"};
  family.architectures = {"UMT5"};
  family.remark = "encoder and decoder: three blocks of heads; a bias by distance per layer";
  family.forward.activation = Activation::kGeluTanh;
  family.forward.scaled_output = true;
  family.layouts = {umt5_layout()};
  return family;
}

}  // namespace headscope::families
