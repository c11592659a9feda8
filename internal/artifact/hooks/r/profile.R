# Runs at the start of every R in the sandbox, in place of a user's own profile. It makes plots that no
# device was opened for pages of PNG files, and captures HTML widgets. Nothing is masked, nothing is
# printed, and no package is loaded.
local({
  directory <- Sys.getenv("SANDBOX_ARTIFACTS")
  if (!dir.exists(directory)) return(invisible())

  # The artifact that is stored next: time in nanoseconds, process, then a number.
  stem <- function() sprintf("%020.0f-%d", as.numeric(Sys.time()) * 1e9, Sys.getpid())

  # The default device, with inches as R's own. Each page is a file, written when the page is complete:
  # at the next page, at dev.off, or when R ends, also after an error.
  resolution <- 100
  longest <- 8000
  open_png <- function(filename, width, height, pointsize, bg) {
    grDevices::png(
      filename = filename, width = width, height = height, res = resolution, pointsize = pointsize, bg = bg,
      type = if (capabilities("cairo")) "cairo" else getOption("bitmapType")
    )
  }
  device <- function(width = 8, height = 6, pointsize = 12, bg = "white", ...) {
    pixels <- pmin(pmax(c(width, height) * resolution, 1), longest)
    name <- file.path(directory, stem())
    open_png(paste0(name, "-%06d.png"), pixels[1], pixels[2], pointsize, bg)
    grDevices::dev.control(displaylist = "enable")
    page <<- list(
      device = grDevices::dev.cur(), name = name, drawn = "",
      reopen = function(filename) open_png(filename, pixels[1], pixels[2], pointsize, bg)
    )
    if (!following) following <<- length(addTaskCallback(function(...) { keep_page(); TRUE })) > 0
    invisible()
  }

  # A program that is killed, as at its time limit, completes no page. So after each expression at top
  # level the page that is being drawn is drawn once more, into the file that the device has opened for
  # it. That takes about 10 ms; it may take a tenth of the time in all, and half a second at first, and
  # is left out for plots of more than about 100,000 points.
  largest <- 2e6
  page <- NULL
  following <- FALSE
  spent <- 0
  keep_page <- function() {
    if (!identical(grDevices::dev.cur(), page$device)) return()
    if (spent > 0.5 + 0.1 * proc.time()[["elapsed"]]) return()
    begin <- proc.time()[["elapsed"]]
    suppressWarnings(try(silent = TRUE, {
      record <- grDevices::recordPlot()
      file <- max("", Sys.glob(paste0(page$name, "-*.png")))
      drawn <- paste(file, length(record[[1]]))
      if (file != "" && drawn != page$drawn && utils::object.size(record[[1]]) < largest) {
        page$drawn <<- drawn
        redraw(record, file)
      }
    }))
    spent <<- spent + proc.time()[["elapsed"]] - begin
  }
  redraw <- function(record, file) {
    partial <- sprintf("%s/.%d.partial", directory, Sys.getpid())
    page$reopen(partial)
    tryCatch(grDevices::replayPlot(record), finally = {
      grDevices::dev.off()
      grDevices::dev.set(page$device)
    })
    # The device has the file open and writes over what is in it.
    file.copy(partial, file, overwrite = TRUE)
    unlink(partial)
  }

  # Stores an HTML file with the scripts and styles beside it written into it.
  store_page <- function(page) {
    folder <- dirname(page)
    text <- paste(readLines(page, warn = FALSE, encoding = "UTF-8"), collapse = "\n")
    inline <- function(text, pattern, open, close) {
      for (tag in unique(regmatches(text, gregexpr(pattern, text, perl = TRUE))[[1]])) {
        name <- utils::URLdecode(sub(".*(?:src|href)=\"([^\"]+)\".*", "\\1", tag, perl = TRUE))
        part <- file.path(folder, name)
        if (!file.exists(part)) next
        content <- readChar(part, file.size(part), useBytes = TRUE)
        Encoding(content) <- "UTF-8"
        text <- gsub(tag, paste0(open, gsub("</(script)", "<\\\\/\\1", content), close), text, fixed = TRUE)
      }
      text
    }
    text <- inline(text, "<script[^>]*src=\"[^\":]+\"[^>]*></script>", "<script>", "</script>")
    text <- inline(text, "<link[^>]*href=\"[^\":]+\"[^>]*rel=\"stylesheet\"[^>]*/?>", "<style>", "</style>")
    partial <- file.path(directory, sprintf(".%d.partial", Sys.getpid()))
    connection <- file(partial, "wb")
    writeLines(text, connection, useBytes = TRUE)
    close(connection)
    file.rename(partial, file.path(directory, paste0(stem(), "-0.html")))
  }

  # Stands in for a viewer or a browser.
  view <- function(url, ...) {
    page <- sub("^file://", "", url)
    if (file.exists(page)) try(store_page(page), silent = TRUE)
    invisible()
  }

  # Widgets print themselves into a viewer only where R is interactive.
  show_widgets <- function(...) {
    print_widget <- function(x, ...) {
      htmltools::html_print(htmltools::as.tags(x, standalone = TRUE), viewer = view)
      invisible(x)
    }
    registerS3method("print", "htmlwidget", print_widget, envir = asNamespace("htmlwidgets"))
  }

  options(device = device, viewer = view, browser = view)
  setHook(packageEvent("htmlwidgets", "onLoad"), show_widgets)

  # The profile that this one takes the place of.
  for (own in c(".Rprofile", "~/.Rprofile")) {
    if (file.exists(own)) {
      sys.source(own, globalenv())
      break
    }
  }
})
