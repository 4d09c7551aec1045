// What a test measured, for the table that tools/test prints at its end: CTest hides what passing tests
// print.
#pragma once

#include <cstdlib>
#include <fstream>
#include <iostream>
#include <string>

namespace mortise::test {

// Prints a line, and appends it to the file that MORTISE_FIGURES in the environment names.
inline void report_figures(const std::string& line) {
  std::cout << line << std::endl;
  if (const char* path = std::getenv("MORTISE_FIGURES")) std::ofstream(path, std::ios::app) << line + "\n";
}

}  // namespace mortise::test
