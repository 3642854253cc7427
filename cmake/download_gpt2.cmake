# Target download-gpt2: the four files of GPT-2 (548 MB, MIT licence) into GPT2_DOWNLOAD_DIR.
#
# As a script (cmake -P, with GPT2_DOWNLOAD_DIR and GPT2_URL defined) this file downloads; included, it makes the target.
# Each file is fetched as NAME.part, its size and hash are checked, and only then it gets its name: what is there under
# its own name is complete, and running the target again fetches what is missing.

if(NOT CMAKE_SCRIPT_MODE_FILE)
  set(GPT2_DOWNLOAD_DIR "${PROJECT_BINARY_DIR}/models/gpt2" CACHE PATH "Where download-gpt2 puts the files")
  set(GPT2_URL "https://huggingface.co/openai-community/gpt2/resolve/main" CACHE STRING "Where download-gpt2 looks")
  add_custom_target(download-gpt2
    COMMAND ${CMAKE_COMMAND} -D "GPT2_DOWNLOAD_DIR=${GPT2_DOWNLOAD_DIR}" -D "GPT2_URL=${GPT2_URL}"
            -P "${CMAKE_CURRENT_LIST_FILE}"
    USES_TERMINAL VERBATIM)
  return()
endif()

function(fetch name bytes sha256)
  set(place "${GPT2_DOWNLOAD_DIR}/${name}")
  if(EXISTS "${place}")
    message(STATUS "${name}: there already")
    return()
  endif()
  if(EXISTS "${place}.part")
    message(STATUS "${name}: an interrupted download is there; starting it again")
  endif()
  message(STATUS "${name}: ${bytes} bytes from ${GPT2_URL}")
  file(DOWNLOAD "${GPT2_URL}/${name}" "${place}.part" SHOW_PROGRESS STATUS status TLS_VERIFY ON INACTIVITY_TIMEOUT 60)
  list(GET status 0 code)
  if(NOT code EQUAL 0)
    list(GET status 1 reason)
    message(FATAL_ERROR "${name}: ${reason}. What is complete is kept: run the target again to go on with the rest.")
  endif()
  file(SIZE "${place}.part" found)
  if(NOT found EQUAL bytes)
    message(FATAL_ERROR "${name}: ${found} bytes arrived, ${bytes} are expected; the file stays as ${name}.part")
  endif()
  if(sha256)
    file(SHA256 "${place}.part" hash)
    if(NOT hash STREQUAL sha256)
      message(FATAL_ERROR "${name}: its SHA-256 is ${hash}, expected ${sha256}; the file stays as ${name}.part")
    endif()
  endif()
  file(RENAME "${place}.part" "${place}")
endfunction()

file(MAKE_DIRECTORY "${GPT2_DOWNLOAD_DIR}")
if(DEFINED ENV{GPT2_FILES})  # "name bytes sha256" triples, for mirrors of other sizes of the model and for tests
  set(files $ENV{GPT2_FILES})
else()
  set(files
    "config.json 665 -"
    "vocab.json 1042301 196139668be63f3b5d6574427317ae82f612a97c5d1cdaf36ed2256dbf636783"
    "merges.txt 456318 1ce1664773c50f3e0cc8842619a93edc4624525b728b188a9e0be33b7726adc5"
    "model.safetensors 548105171 248dfc3911869ec493c76e65bf2fcf7f615828b0254c12b473182f0f81d3a707")
endif()
foreach(entry IN LISTS files)
  string(REPLACE " " ";" entry "${entry}")
  list(GET entry 0 name)
  list(GET entry 1 bytes)
  list(GET entry 2 sha256)
  if(sha256 STREQUAL "-")
    set(sha256 "")
  endif()
  fetch(${name} ${bytes} "${sha256}")
endforeach()
message(STATUS "GPT-2 is complete: part4_gpt2 --model ${GPT2_DOWNLOAD_DIR}")
