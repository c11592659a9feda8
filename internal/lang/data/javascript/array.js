const orders = [
  { item: "tea", price: 4, count: 3 },
  { item: "cup", price: 9, count: 1 },
  { item: "pot", price: 25, count: 0 },
];

const bill = orders.filter((o) => o.count > 0).map((o) => ({ ...o, total: o.price * o.count }));
console.log(bill);
console.log("sum:", bill.reduce((sum, o) => sum + o.total, 0));
