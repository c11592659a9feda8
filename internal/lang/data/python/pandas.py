import pandas as pd

sales = pd.DataFrame({
    "city": ["Oslo", "Lima", "Oslo", "Lima"],
    "units": [3, 5, 4, 8],
})
print(sales.groupby("city")["units"].agg(["sum", "mean"]))
