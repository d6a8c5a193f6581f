#include "headscope/model/family.h"
#include "model/t5_layout.h"

namespace headscope::families {

Family mt5() {
  Family family = t5_family();
  family.name = "mt5";
  family.model_types = {"mt5"};
  family.architectures = {"MT5"};
  family.remark = "encoder and decoder: three blocks of heads";
  family.forward.activation = Activation::kGeluTanh;
  return family;
}

}  // namespace headscope::families
