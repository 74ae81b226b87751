# rs_room(folder DEPS rooms... LIBS libraries... EXCEPT files...): a static library of its *.c, without some; that
# of audit/rules is rs_audit_rules.
# rs_test(room file): a cmocka test of one room, linked with that room and its law only. tests/CMakeLists.txt says of
# which build make check runs it.

add_library(rs_options INTERFACE)
target_include_directories(rs_options INTERFACE ${CMAKE_SOURCE_DIR}/src)
target_compile_definitions(rs_options INTERFACE _GNU_SOURCE ${RS_WITHOUT})
target_compile_options(rs_options INTERFACE
  -ffp-contract=off # a * b + c is rounded twice, on machines that have it in one instruction, too
  -Wall -Wextra -Wpedantic -Wshadow -Wno-unused-parameter -fno-omit-frame-pointer
  -Wstrict-prototypes -Wmissing-prototypes -Wvla -Wpointer-arith -Wcast-align)
# Frame pointers and the assertions of programmer errors stay in every build: both are cheap.
foreach(type RELEASE RELWITHDEBINFO MINSIZEREL)
  string(REPLACE "-DNDEBUG" "" CMAKE_C_FLAGS_${type} "${CMAKE_C_FLAGS_${type}}")
endforeach()
if(CMAKE_C_COMPILER_ID STREQUAL "GNU")
  # snprintf() cuts what is longer than a limit: meant so.
  target_compile_options(rs_options INTERFACE -Wno-format-truncation)
endif()
if(RS_WERROR)
  target_compile_options(rs_options INTERFACE -Werror)
endif()
if(RS_SANITIZE)
  # -g1: reports name functions and lines, and compiling takes a fifth less than with what a debugger wants
  target_compile_options(rs_options INTERFACE -fsanitize=${RS_SANITIZE} -fno-sanitize-recover=all -g1)
  target_link_options(rs_options INTERFACE -fsanitize=${RS_SANITIZE})
  target_compile_definitions(rs_options INTERFACE RS_SANITIZED)
endif()
if(RS_FUZZ)
  target_compile_options(rs_options INTERFACE -fsanitize=fuzzer-no-link)
endif()
if(RS_COVERAGE)
  target_compile_options(rs_options INTERFACE --coverage)
  target_link_options(rs_options INTERFACE --coverage)
endif()
if(CMAKE_BUILD_TYPE STREQUAL "Release" AND NOT RS_SANITIZE AND NOT RS_COVERAGE AND RS_LTO)
  check_ipo_supported(RESULT RS_IPO LANGUAGES C OUTPUT RS_IPO_WHY)
  if(RS_IPO)
    set(CMAKE_INTERPROCEDURAL_OPTIMIZATION ON)
    # Rooms hold machine code too, so that tests link without it (tests/CMakeLists.txt).
    set(CMAKE_C_COMPILE_OPTIONS_IPO -flto=auto -ffat-lto-objects)
  endif()
endif()

function(rs_room folder)
  cmake_parse_arguments(R "" "" "DEPS;LIBS;EXCEPT" ${ARGN})
  file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/src/${folder}/*.c)
  foreach(f ${R_EXCEPT})
    list(REMOVE_ITEM sources ${CMAKE_SOURCE_DIR}/src/${folder}/${f})
  endforeach()
  string(REPLACE "/" "_" name ${folder})
  if(NOT sources)
    add_library(rs_${name} INTERFACE)
    set(kind INTERFACE)
  else()
    add_library(rs_${name} STATIC ${sources})
    # Also for the shared libraries of verbs/; hidden, so that calls inside cost no indirection.
    set_target_properties(rs_${name} PROPERTIES POSITION_INDEPENDENT_CODE ON
      C_VISIBILITY_PRESET hidden)
    set(kind PUBLIC)
    # Rooms that read, judge and print: no run spends its time there, and they are more than half of the code. They
    # stay out of the optimization at link time, which took as long as all the rest of a build. With sanitizers -Og
    # compiles them in a third of the time that -O2 takes, where tests run little longer (of the others, with -O1, twice
    # as long: cli_expect, cli_measured); ThreadSanitizer's build runs next to nothing of them.
    if(name MATCHES "^(audit|expect|compare|report|text|import|describe|diagnose|measured|capture|fabric|nccl)")
      set_target_properties(rs_${name} PROPERTIES INTERPROCEDURAL_OPTIMIZATION OFF)
      if(RS_SANITIZE)
        string(REGEX MATCH thread threads "${RS_SANITIZE}")
        if(name STREQUAL "nccl") # its search is what test_collective spends its time with
          target_compile_options(rs_${name} PRIVATE -O2)
        else()
          target_compile_options(rs_${name} PRIVATE -O$<IF:$<BOOL:${threads}>,0,g>)
        endif()
      elseif(CMAKE_BUILD_TYPE STREQUAL "Release")
        target_compile_options(rs_${name} PRIVATE -O2)
      endif()
    endif()
  endif()
  target_link_libraries(rs_${name} ${kind} rs_options)
  foreach(d ${R_DEPS})
    string(REPLACE "/" "_" d ${d})
    target_link_libraries(rs_${name} ${kind} rs_${d})
  endforeach()
  target_link_libraries(rs_${name} ${kind} ${R_LIBS} m)
endfunction()

function(rs_test room file)
  get_filename_component(name ${file} NAME_WE)
  if(TARGET ${name}) # two rooms may test a module of the same name
    set(name ${name}_${room})
  endif()
  add_executable(${name} ${file})
  target_link_libraries(${name} PRIVATE rs_${room} PkgConfig::CMOCKA)
  target_include_directories(${name} PRIVATE ${CMAKE_SOURCE_DIR}/tests)
  target_compile_definitions(${name} PRIVATE RS_SOURCE_DIR="${CMAKE_SOURCE_DIR}")
  add_test(NAME ${name} COMMAND ${name})
endfunction()
