// The programs of cases are linked as one, since most of what is compiled for each are the headers of the
// library. It is run by links: NAME_LIBRARY runs the program NAME. One that is linked alone has any name.
#include "program_cases.hpp"

#include <iostream>
#include <string>

int main(int count, char** words) {
  const auto& programs = call_kinds::program::all();
  std::string name = words[0];
  name.erase(0, name.rfind('/') + 1);
  name = name.substr(0, name.rfind('_'));
  const auto found = programs.size() == 1 ? programs.begin() : programs.find(name);
  if (found != programs.end()) return found->second->run(count, words);
  std::cerr << "there is no program " << name << "; there are:";
  for (const auto& [other, program] : programs) std::cerr << " " << other;
  std::cerr << "\n";
  return 2;
}
