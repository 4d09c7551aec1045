// Only one copy of this program runs at a time: start a second one while the first waits.
#include <iostream>
#include <mortise/mortise.hpp>

int main() {
  using namespace std::chrono_literals;

  auto [ran] = mortise::lock("quick-start", 10min).run([] {
    std::cout << "I have the lock. Press Enter to finish." << std::endl;
    std::cin.get();
  });
  if (!ran) std::cout << "Another copy has the lock.\n";
  return ran ? 0 : 1;
}
