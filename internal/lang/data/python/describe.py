import importlib.util
import json
import platform

# Names on PyPI and the modules they bring.
CANDIDATES = {
    "numpy": "numpy",
    "pandas": "pandas",
    "matplotlib": "matplotlib",
    "pillow": "PIL",
    "seaborn": "seaborn",
    "scikit-learn": "sklearn",
    "scipy": "scipy",
    "scikit-image": "skimage",
    "plotly": "plotly",
    "bokeh": "bokeh",
    "altair": "altair",
    "polars": "polars",
    "pyarrow": "pyarrow",
    "statsmodels": "statsmodels",
    "sympy": "sympy",
    "networkx": "networkx",
    "opencv-python": "cv2",
    "torch": "torch",
    "tensorflow": "tensorflow",
    "xgboost": "xgboost",
    "nltk": "nltk",
    "openpyxl": "openpyxl",
    "lxml": "lxml",
    "beautifulsoup4": "bs4",
    "pyyaml": "yaml",
    "requests": "requests",
}

found = [name for name, module in CANDIDATES.items() if importlib.util.find_spec(module)]
print(json.dumps({"version": platform.python_version(), "libraries": found}))
