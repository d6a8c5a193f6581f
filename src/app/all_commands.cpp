#include "headscope/app/capture.h"
#include "headscope/app/command.h"
#include "headscope/app/compare.h"
#include "headscope/app/detect.h"
#include "headscope/app/families.h"
#include "headscope/app/inspect.h"
#include "headscope/app/organize.h"
#include "headscope/app/patch.h"
#include "headscope/app/prune.h"
#include "headscope/app/relate.h"
#include "headscope/app/report.h"
#include "headscope/app/reproduce.h"
#include "headscope/app/softmax.h"

namespace headscope {

std::vector<std::unique_ptr<Command>> all_commands() {
  std::vector<std::unique_ptr<Command>> commands;
  commands.push_back(std::make_unique<RequestCommand<InspectRequest>>());
  commands.push_back(std::make_unique<RequestCommand<RelateRequest>>());
  commands.push_back(std::make_unique<RequestCommand<CaptureRequest>>());
  commands.push_back(std::make_unique<RequestCommand<DetectRequest>>());
  commands.push_back(std::make_unique<RequestCommand<PatchRequest>>());
  commands.push_back(std::make_unique<RequestCommand<OrganizeRequest>>());
  commands.push_back(std::make_unique<RequestCommand<SoftmaxRequest>>());
  commands.push_back(std::make_unique<RequestCommand<ReportRequest>>());
  commands.push_back(std::make_unique<RequestCommand<PruneRequest>>());
  commands.push_back(std::make_unique<RequestCommand<CompareRequest>>());
  commands.push_back(std::make_unique<RequestCommand<ReproduceRequest>>());
  commands.push_back(std::make_unique<RequestCommand<FamiliesRequest>>());
  return commands;
}

}  // namespace headscope
