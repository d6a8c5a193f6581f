#include "headscope/base/emergency.h"

#include <chrono>
#include <map>
#include <mutex>
#include <utility>

namespace headscope {
namespace {

struct Registry {
  std::timed_mutex mutex;
  std::map<std::size_t, std::function<void()>> actions;
  std::size_t next = 0;
};

Registry& registry() {
  static Registry instance;
  return instance;
}

}  // namespace

EmergencyAction::EmergencyAction(std::function<void()> action) {
  Registry& all = registry();
  const std::scoped_lock lock(all.mutex);
  id_ = all.next++;
  all.actions.emplace(id_, std::move(action));
}

EmergencyAction::~EmergencyAction() {
  Registry& all = registry();
  const std::scoped_lock lock(all.mutex);
  all.actions.erase(id_);
}

void EmergencyAction::do_all() noexcept {
  constexpr std::chrono::milliseconds kPatience(100);
  Registry& all = registry();
  const std::unique_lock lock(all.mutex, kPatience);
  if (!lock.owns_lock()) return;
  for (auto action = all.actions.rbegin(); action != all.actions.rend(); ++action) {
    try {
      action->second();
    } catch (...) {
      continue;  // the others still have to be done
    }
  }
}

}  // namespace headscope
