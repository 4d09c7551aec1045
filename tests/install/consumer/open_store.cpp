// Opens the store that a URL names, without a word about what kind of store it is.
#include <exception>
#include <iostream>
#include <mortise/mortise.hpp>

int main(int, char** argv) {
  try {
    return mortise::open_store(argv[1]) ? 0 : 1;
  } catch (const std::exception& error) {
    std::cerr << error.what() << '\n';
    return 1;
  }
}
