#!/usr/bin/env python
"""Django's command line for Accord."""

import os
import sys

from django.core.management import execute_from_command_line

if __name__ == "__main__":
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    # Before numpy loads: on small matrices, threads of linear algebra double the time where cores are shared.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    execute_from_command_line(sys.argv)
