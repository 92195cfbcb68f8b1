;;; Mends, renames and formats a spec, by the server that settings start.

(require 'eglot)
(unless (or (fboundp 'yaml-mode) (require 'yaml-mode nil t))
  (define-derived-mode yaml-mode prog-mode "YAML"))

(defun waited (what holds)
  "Wait for WHAT until HOLDS."
  (let ((end (+ (float-time) 60)))
    (while (not (funcall holds))
      (when (> (float-time) end) (error "Waited in vain for %s" what))
      (accept-process-output nil 0.05))))

(setq eglot-sync-connect 60 eglot-confirm-server-initiated-edits nil)
(find-file "a.yaml")
(unless (derived-mode-p 'yaml-mode) (yaml-mode))
;; What runs the hook of `eglot-ensure' while somebody types.
(run-hooks 'post-command-hook)
(waited "the server" #'eglot-current-server)
(flymake-start)
(waited "a fault" #'flymake-diagnostics)
(message "%s" (flymake-diagnostic-text (car (flymake-diagnostics))))

(let ((fault (car (flymake-diagnostics))))
  (eglot-code-actions (flymake-diagnostic-beg fault) (flymake-diagnostic-end fault)
                      "quickfix" t))
(goto-char (point-min))
(search-forward "sum( w")
(let ((found (nth 2 (eglot-completion-at-point))))
  (message "completed %s" (car (all-completions "weights" found))))
(eglot-rename "w")
(eglot-format-buffer)
(save-buffer)
(eglot-shutdown (eglot-current-server))
