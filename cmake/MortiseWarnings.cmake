# Warnings are errors in this project's own builds; a parent project that adds mortise as a subdirectory keeps its own rules.
option(MORTISE_WERROR "Treat warnings as errors" ${PROJECT_IS_TOP_LEVEL})
add_library(mortise_warnings INTERFACE)
target_compile_options(mortise_warnings INTERFACE -Wall -Wextra -Wpedantic -Wconversion -Wshadow
                                                  $<$<BOOL:${MORTISE_WERROR}>:-Werror>)
